import { resolve } from "node:path";
import { z } from "zod";
import type { Auth, SecretSource } from "../../core/config/config.ts";
import { HEADER_NAME_PATTERN } from "./credential-signs.ts";
import { filePath, matching, section, text } from "./leaves.ts";

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
  },
  `one of bearer, header, query (each with env or file) or none: true; ${NEVER_LITERAL}`,
)
  .meta({ minProperties: 1, maxProperties: 1 })
  .describe("How a request is authenticated: exactly one of these.");

/** Undefined unless exactly one way is set; the checks of the upstream report that. */
export const authSchema: z.ZodType<InDirectory<Auth | undefined>> = auth.transform(
  ({ none, bearer, header, query }) =>
    (directory: string): Auth | undefined => {
      if (none === true) return { kind: "none" };
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
