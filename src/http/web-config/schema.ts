/**
 * The file format that Prometheus's exporters share. Each `error` says what a value must be. What this server
 * does not do (inline certificates, allowed SANs, rate limits) is refused rather than ignored.
 */

import { z } from "zod";

/** TLS 1.3 chooses among these by itself; a list that leaves them out would switch it off. */
export const TLS13_CIPHERS: readonly string[] = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
];

/** As Go names them in the file, and as OpenSSL does. */
export const CIPHERS: ReadonlyMap<string, string> = new Map([
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

export const CURVES: ReadonlyMap<string, string> = new Map([
  ["CurveP256", "P-256"],
  ["CurveP384", "P-384"],
  ["CurveP521", "P-521"],
  ["X25519", "X25519"],
]);

const CLIENT_AUTH_TYPES = [
  "NoClientCert",
  "RequestClientCert",
  "RequireAnyClientCert",
  "RequireClientCert",
  "VerifyClientCertIfGiven",
  "RequireAndVerifyClientCert",
] as const;
export type ClientAuthType = (typeof CLIENT_AUTH_TYPES)[number];

const VERSIONS = ["TLS12", "TLS13"] as const;
type TlsVersion = (typeof VERSIONS)[number];

/** JavaScript's bcrypt takes some eight seconds at 16, and twice that for each one more. */
const MAX_BCRYPT_COST = 16;

const fileName = z.string({ error: "the name of a file" }).regex(/^[^\r\n]+$/, "the name of a file");
const yesOrNo = z.boolean({ error: "true or false" });
const aMap = { error: "a map" };

function oneOf<const Names extends readonly string[]>(
  names: Names,
): z.ZodEnum<z.core.util.ToEnum<Names[number]>> {
  return z.enum(names, { error: `one of ${names.join(", ")}` });
}

const tlsServer = z
  .strictObject(
    {
      cert_file: fileName,
      key_file: fileName,
      client_auth_type: oneOf(CLIENT_AUTH_TYPES).default("NoClientCert"),
      client_ca_file: fileName.optional(),
      min_version: oneOf(VERSIONS).default("TLS12"),
      max_version: oneOf(VERSIONS).default("TLS13"),
      cipher_suites: z.array(oneOf([...CIPHERS.keys()]), { error: "a list" }).optional(),
      prefer_server_cipher_suites: yesOrNo.default(true),
      curve_preferences: z.array(oneOf([...CURVES.keys()]), { error: "a list" }).optional(),
    },
    aMap,
  )
  .superRefine((tls, context) => {
    const refuse = (key: string, message: string): void =>
      context.addIssue({ code: "custom", path: [key], message });
    const verifies = ["VerifyClientCertIfGiven", "RequireAndVerifyClientCert"].includes(tls.client_auth_type);
    // Without a CA of one's own, any certificate of any public CA would do.
    if (verifies && tls.client_ca_file === undefined)
      refuse("client_ca_file", `the name of a file where client_auth_type is ${tls.client_auth_type}`);
    if (tls.client_auth_type === "NoClientCert" && tls.client_ca_file !== undefined)
      refuse("client_auth_type", "one that asks for a certificate where client_ca_file is set");
    if (tls.min_version > tls.max_version) refuse("min_version", "at most max_version");
  });

/** An empty value leaves the header as this server sends it by itself. */
const headerValue = z
  .string({ error: "one line of text" })
  .regex(/^[\t\u0020-\u007e]*$/, "one line of plain text");

const headers = z.strictObject(
  {
    "Content-Security-Policy": headerValue.optional(),
    "X-Frame-Options": z.enum(["deny", "sameorigin", ""], { error: "deny or sameorigin" }).optional(),
    "X-Content-Type-Options": z.enum(["nosniff", ""], { error: "nosniff" }).optional(),
    "X-XSS-Protection": headerValue.optional(),
    "Strict-Transport-Security": headerValue.optional(),
  },
  aMap,
);

/** HTTP/1.1 is served whatever `http2` says: a client that knows HTTP/2 negotiates down by itself. */
const httpServer = z.strictObject({ http2: yesOrNo.optional(), headers: headers.nullish() }, aMap);

const bcryptHash = z
  .string({ error: "a bcrypt hash" })
  .regex(/^\$2[aby]\$(?:0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/, { error: "a bcrypt hash", abort: true })
  .refine(
    (hash) => Number(hash.slice(4, 6)) <= MAX_BCRYPT_COST,
    `a bcrypt hash of cost ${MAX_BCRYPT_COST} at most`,
  );

const userName = z.string().regex(/^[^:]+$/, "a name without a colon");

const webConfig = z.strictObject(
  {
    tls_server_config: tlsServer.nullish(),
    http_server_config: httpServer.nullish(),
    basic_auth_users: z.record(userName, bcryptHash, aMap).nullish(),
  },
  aMap,
);

export type RawTlsServer = {
  readonly cert_file: string;
  readonly key_file: string;
  readonly client_auth_type: ClientAuthType;
  readonly client_ca_file?: string | undefined;
  readonly min_version: TlsVersion;
  readonly max_version: TlsVersion;
  readonly cipher_suites?: readonly string[] | undefined;
  readonly prefer_server_cipher_suites: boolean;
  readonly curve_preferences?: readonly string[] | undefined;
};

export type RawWebConfig = {
  readonly tls_server_config?: RawTlsServer | null | undefined;
  readonly http_server_config?:
    | { readonly headers?: Readonly<Record<string, string | undefined>> | null | undefined }
    | null
    | undefined;
  readonly basic_auth_users?: Readonly<Record<string, string>> | null | undefined;
};

export function checkWebConfig(value: unknown): z.ZodSafeParseResult<RawWebConfig> {
  return webConfig.safeParse(value);
}

/** By the path of each map. */
export const ALLOWED_KEYS: ReadonlyMap<string, readonly string[]> = new Map([
  ["", Object.keys(webConfig.shape)],
  ["tls_server_config", Object.keys(tlsServer.shape)],
  ["http_server_config", Object.keys(httpServer.shape)],
  ["http_server_config.headers", Object.keys(headers.shape)],
]);

/** Under it values are never repeated in a message: somebody may have put a password there. */
export const SECRET_SECTION = "basic_auth_users";
