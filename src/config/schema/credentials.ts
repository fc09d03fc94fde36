import { resolve } from "node:path";
import { z } from "zod";
import type { Auth, SecretSource, TokenRequest } from "../../core/config/config.ts";
import { HEADER_NAME_PATTERN } from "./credential-signs.ts";
import { NAME_PATTERN, checked, filePath, matching, oneOf, section, text } from "./leaves.ts";
import { URL_PATTERN } from "./patterns.ts";
import { urlFault } from "./upstream-url.ts";

/** Paths in a config are relative to its directory, which a schema does not know. */
export type InDirectory<Value> = (directory: string) => Value;

const NEVER_LITERAL = "a key is never written in the config";
const exactlyOne = { oneOf: [{ required: ["env"] }, { required: ["file"] }] };

const source = {
  env: matching(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "the name of an environment variable")
    .optional()
    .describe("The environment variable that holds the key."),
  file: filePath()
    .optional()
    .describe(
      "The file that holds the key, relative to the config. It is read before each poll, so keys rotate.",
    ),
};

/** A scope as RFC 6749 spells it: visible ASCII without quotes and backslashes. */
const SCOPE_PATTERN = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;
const PARAMETER_NAME_PATTERN = /^[A-Za-z0-9._-]{1,64}$/;

const oauth2 = section(
  {
    token_url: checked(urlFault, "an http:// or https:// URL")
      .meta({ pattern: URL_PATTERN })
      .describe("The token endpoint: its http or https URL, without a key in it."),
    client_id: text("a client's id", 256).describe("The id of our client. It is shown on pages."),
    client_secret: section(
      {
        env: source.env.describe("The environment variable that holds the client's secret."),
        file: source.file.describe(
          "The file that holds the client's secret, relative to the config. It is read before each token request.",
        ),
      },
      `{ env: NAME } or { file: PATH }: ${NEVER_LITERAL}`,
    )
      .meta(exactlyOne)
      .describe("Where the client's secret is found."),
    scopes: z
      .array(matching(SCOPE_PATTERN, "a scope without spaces"), { error: "a list of scopes" })
      .max(50, { error: "a list of at most 50 scopes" })
      .prefault([])
      .describe("The scopes to ask for."),
    parameters: z
      .record(matching(PARAMETER_NAME_PATTERN, "a form field's name"), text("a text (quote numbers)", 1024), {
        error: "a mapping of form fields to texts",
      })
      .prefault({})
      .describe("More fields of the token request, such as audience. They are shown on pages: never a key."),
    client_auth: oneOf(["basic", "body"])
      .prefault("basic")
      .describe("Where the client's id and secret are sent: in Authorization: Basic, or in the body."),
    budget: matching(NAME_PATTERN, "the name of a budget")
      .optional()
      .describe("The budget that token requests count against. Default: the upstream's."),
    ca_file: filePath()
      .optional()
      .describe("PEM certificates to trust at the token endpoint instead of the system's."),
  },
  "a mapping of token_url, client_id, client_secret and, if needed, scopes, parameters, client_auth, budget, ca_file",
);

const auth = section(
  {
    none: z.literal(true, { error: "true" }).optional().describe("No key at all."),
    bearer: section(source, `{ env: NAME } or { file: PATH }: ${NEVER_LITERAL}`)
      .meta(exactlyOne)
      .optional()
      .describe("Sent as Authorization: Bearer KEY."),
    header: section(
      {
        name: matching(HEADER_NAME_PATTERN, "a header's name").describe(
          "The header that carries only the key.",
        ),
        ...source,
      },
      `{ name: HEADER, env: NAME } or { name: HEADER, file: PATH }: ${NEVER_LITERAL}`,
    )
      .meta(exactlyOne)
      .optional()
      .describe("Sent in a header of its own."),
    query: section(
      {
        name: text("a query parameter's name", 128).describe("The query parameter that carries the key."),
        ...source,
      },
      `{ name: PARAMETER, env: NAME } or { name: PARAMETER, file: PATH }: ${NEVER_LITERAL}`,
    )
      .meta(exactlyOne)
      .optional()
      .describe("Sent as a query parameter. It is kept out of every log, metric and page."),
    oauth2: oauth2
      .optional()
      .describe(
        "Sent as Authorization: Bearer TOKEN. The token is fetched by client credentials (OAuth 2.0), at most once a minute, and shared by all upstreams with the same settings.",
      ),
  },
  `one of bearer, header, query (each with env or file), oauth2 or none: true; ${NEVER_LITERAL}`,
)
  .meta({ minProperties: 1, maxProperties: 1 })
  .describe("How a request is authenticated: exactly one of these.");

/** What a token request has from its upstream. */
type OfUpstream = Pick<TokenRequest, "budgets" | "proxy">;

/** Undefined unless exactly one way is set; the checks of the upstream report that. */
export const authSchema: z.ZodType<(directory: string, upstream: OfUpstream) => Auth | undefined> =
  auth.transform(
    ({ none, bearer, header, query, oauth2 }) =>
      (directory: string, { budgets, proxy }: OfUpstream): Auth | undefined => {
        if (none === true) return { kind: "none" };
        if (oauth2 !== undefined) {
          const secret = sourceIn(directory, oauth2.client_secret);
          if (secret === undefined) return undefined;
          const token: TokenRequest = {
            url: new URL(oauth2.token_url).href,
            clientId: oauth2.client_id,
            clientAuth: oauth2.client_auth,
            scopes: oauth2.scopes,
            parameters: oauth2.parameters,
            budgets: oauth2.budget === undefined ? budgets : [oauth2.budget],
            proxy,
            caFile: pathIn(directory, oauth2.ca_file),
          };
          return { kind: "oauth2", secret, token };
        }
        const secret = sourceIn(directory, bearer ?? header ?? query ?? {});
        if (secret === undefined) return undefined;
        if (bearer !== undefined) return { kind: "bearer", secret };
        if (header !== undefined) return { kind: "header", name: header.name, secret };
        return query === undefined ? undefined : { kind: "query", name: query.name, secret };
      },
  );

export const passwordSchema: z.ZodType<InDirectory<SecretSource | undefined>> = section(
  {
    env: source.env.describe("The environment variable that holds the password."),
    file: source.file.describe("The file that holds the password, relative to the config."),
  },
  "{ env: NAME } or { file: PATH }: a password is never written in the config",
)
  .meta(exactlyOne)
  .describe("Where the password is found.")
  .transform((source) => (directory: string) => sourceIn(directory, source));

function sourceIn(
  directory: string,
  { env, file }: { readonly env?: string | undefined; readonly file?: string | undefined },
): SecretSource | undefined {
  if (env !== undefined) return { from: "env", variable: env };
  return file === undefined ? undefined : { from: "file", path: resolve(directory, file) };
}

type OptionalPath = z.ZodOptional<z.ZodType<string, string>>;

export const tlsFiles: Readonly<Record<"ca_file" | "cert_file" | "key_file", OptionalPath>> = {
  ca_file: filePath().optional().describe("PEM certificates to trust instead of the system's."),
  cert_file: filePath().optional().describe("Our own PEM certificate, where the other side asks for one."),
  key_file: filePath().optional().describe("The PEM key of cert_file."),
};

/** For the JSON Schema: each needs the other. */
export const CERTIFICATE_AND_KEY: Readonly<Record<string, readonly string[]>> = {
  cert_file: ["key_file"],
  key_file: ["cert_file"],
};

type TlsFiles = {
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
};

export function tlsFilesIn(
  directory: string,
  files: { readonly [Key in keyof typeof tlsFiles]?: string | undefined },
): TlsFiles {
  return {
    caFile: pathIn(directory, files.ca_file),
    certFile: pathIn(directory, files.cert_file),
    keyFile: pathIn(directory, files.key_file),
  };
}

export function pathIn(directory: string, path: string | undefined): string | undefined {
  return path === undefined ? undefined : resolve(directory, path);
}
