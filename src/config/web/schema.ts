/**
 * The file format that Prometheus's exporters share. Each `error` says what a value must be. What this server
 * does not do (inline certificates, allowed SANs, rate limits) is refused rather than ignored.
 */

import { z } from "zod";
import { CLIENT_AUTH_TYPES, type WebConfig, type WebTls } from "../../kernel/config/web-config.ts";
import { filePath, flag, matching, oneOf, section } from "../keys/leaves.ts";
import { noted } from "../keys/notes.ts";

/** TLS 1.3 always chooses among these; a list without them would switch it off. */
const TLS13_CIPHERS: readonly string[] = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
];

/** The file has Go's names, and Node.js takes OpenSSL's. */
const CIPHERS: ReadonlyMap<string, string> = new Map([
  ...TLS13_CIPHERS.map((name) => [name, name] as const),
  ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"],
  ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"],
  ["TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"],
  ["TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA"],
  ["TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA"],
  ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"],
  ["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"],
  ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"],
  ["TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA"],
  ["TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA"],
]);

const CURVES = ["CurveP256", "CurveP384", "CurveP521", "X25519"];

/** JavaScript's bcrypt takes some eight seconds at 16, and twice as long for each step more. */
const MAX_BCRYPT_COST = 16;

const tlsVersion = oneOf(["TLS12", "TLS13"]).transform((name): WebTls["context"]["minVersion"] =>
  name === "TLS12" ? "TLSv1.2" : "TLSv1.3",
);

const tlsServer = section({
  cert_file: filePath("certificates"),
  key_file: filePath("certificates"),
  client_auth_type: oneOf(CLIENT_AUTH_TYPES).prefault("NoClientCert"),
  client_ca_file: filePath("certificates").optional(),
  min_version: tlsVersion.prefault("TLS12"),
  max_version: tlsVersion.prefault("TLS13"),
  cipher_suites: z.array(oneOf([...CIPHERS.keys()]), { error: "a list" }).optional(),
  prefer_server_cipher_suites: flag().prefault(true),
  curve_preferences: z.array(oneOf(CURVES), { error: "a list" }).optional(),
})
  .superRefine((tls, context) => {
    const refuse = (key: string, message: string): void =>
      context.addIssue({ code: "custom", path: [key], message });
    const verifies = ["VerifyClientCertIfGiven", "RequireAndVerifyClientCert"].includes(tls.client_auth_type);
    // Without this CA, any certificate of any public CA would be accepted.
    if (verifies && tls.client_ca_file === undefined)
      refuse("client_ca_file", `a file's path where client_auth_type is ${tls.client_auth_type}`);
    if (tls.client_auth_type === "NoClientCert" && tls.client_ca_file !== undefined)
      refuse("client_auth_type", "one that asks for a certificate where client_ca_file is set");
    if (tls.min_version > tls.max_version) refuse("min_version", "at most max_version");
  })
  .transform((tls) => ({
    files: { cert_file: tls.cert_file, key_file: tls.key_file, client_ca_file: tls.client_ca_file },
    clientAuth: tls.client_auth_type,
    options: {
      minVersion: tls.min_version,
      maxVersion: tls.max_version,
      honorCipherOrder: tls.prefer_server_cipher_suites,
      ...(tls.cipher_suites?.length && { ciphers: opensslCiphers(tls.cipher_suites) }),
      ...(tls.curve_preferences?.length && {
        ecdhCurve: tls.curve_preferences.map((name) => name.replace("CurveP", "P-")).join(":"),
      }),
    },
  }));

function opensslCiphers(names: readonly string[]): string {
  return [...new Set([...TLS13_CIPHERS, ...names.map((name) => CIPHERS.get(name))])].join(":");
}

/** An empty value leaves this server's own header. */
const headerValue = matching(/^[\t\u0020-\u007e]*$/, "one line of plain text").optional();

const headers = section({
  "Content-Security-Policy": headerValue,
  "X-Frame-Options": z.enum(["deny", "sameorigin", ""], { error: "deny or sameorigin" }).optional(),
  "X-Content-Type-Options": z.enum(["nosniff", ""], { error: "nosniff" }).optional(),
  "X-XSS-Protection": headerValue,
  "Strict-Transport-Security": headerValue,
});

const error = "a bcrypt hash, as htpasswd -nBC 10 NAME prints it";
const bcryptHash = z
  .string({ error })
  .regex(/^\$2[aby]\$(?:0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/, { error, abort: true })
  .refine(
    (hash) => Number(hash.slice(4, 6)) <= MAX_BCRYPT_COST,
    `a bcrypt hash of cost ${MAX_BCRYPT_COST} at most`,
  );

const userName = matching(/^[^:]+$/, "a user's name without a colon");

export type UnopenedTls = Pick<WebTls, "clientAuth"> & {
  readonly files: Readonly<
    Record<"cert_file" | "key_file", string> & Record<"client_ca_file", string | undefined>
  >;
  readonly options: Omit<WebTls["context"], "cert" | "key" | "ca">;
};

/** Before the files that it names are read. */
export type UnopenedWebConfig = Omit<WebConfig, "tls"> & { readonly tls: UnopenedTls | undefined };

export const webConfigSchema: z.ZodType<UnopenedWebConfig> = section({
  // Without a value it may be cut short: to serve everybody, a file says nothing of it.
  tls_server_config: tlsServer.optional(),
  // HTTP/1.1 is served whatever `http2` says: HTTP/2 clients negotiate down.
  http_server_config: section({ http2: flag().optional(), headers: headers.nullish() }).nullish(),
  basic_auth_users: noted(z.record(userName, bcryptHash, { error: "a mapping of names to bcrypt hashes" }), {
    isSecret: true,
  }).optional(),
}).transform(({ tls_server_config: tls, http_server_config: http, basic_auth_users: users }) => ({
  tls,
  headers: Object.fromEntries(
    Object.entries(http?.headers ?? {}).flatMap(([name, value]) => (value ? [[name, value]] : [])),
  ),
  users: new Map(Object.entries(users ?? {})),
}));
