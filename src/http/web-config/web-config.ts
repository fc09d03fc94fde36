import { readFile, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import type { Users } from "../guards/basic-auth.ts";
import {
  CIPHERS,
  type ClientAuthType,
  CURVES,
  type RawTlsServer,
  type RawWebConfig,
  TLS13_CIPHERS,
} from "./schema.ts";
import { parseWebConfig } from "./parse.ts";

export type WebTls = { readonly clientAuth: ClientAuthType; readonly context: SecureContextOptions };

export type WebConfig = {
  /** Undefined: plain HTTP. */
  readonly tls: WebTls | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly users: Users;
};

export type LoadedWebConfig = {
  /** What every file that was read looked like just before it was. */
  readonly marks: FileMarks;
} & (
  | { readonly kind: "loaded"; readonly config: WebConfig }
  | { readonly kind: "refused"; readonly faults: readonly string[] }
);

export type FileMarks = ReadonlyMap<string, string>;

/** Reads the file and the certificates that it names, and tries them; relative names are looked up beside it. */
export async function loadWebConfig(path: string): Promise<LoadedWebConfig> {
  const marks = new Map<string, string>();
  const read = async (file: string): Promise<Buffer> => {
    marks.set(file, await markOf(file));
    return readFile(file);
  };
  try {
    const parsed = parseWebConfig((await read(path)).toString("utf8"), path);
    if (parsed.kind === "refused") return { ...parsed, marks };
    const { tls_server_config: tls, http_server_config: http, basic_auth_users: users } = parsed.raw;
    const directory = dirname(path);
    const config = {
      tls: tls ? await tlsOf(tls, (file) => read(resolve(directory, file))) : undefined,
      headers: headersOf(http),
      users: new Map(Object.entries(users ?? {})),
    };
    return { kind: "loaded", config, marks };
  } catch (error) {
    return { kind: "refused", faults: [`${path}: cannot use it: ${messageOf(error)}`], marks };
  }
}

/** The files of an earlier load, as they are now. */
export async function lookAgain(marks: FileMarks): Promise<FileMarks> {
  return new Map(
    await Promise.all([...marks.keys()].map(async (file) => [file, await markOf(file)] as const)),
  );
}

/** The inode is in it, as Kubernetes swaps a link; so a new file is seen even if it is older. */
async function markOf(file: string): Promise<string> {
  try {
    const { mtimeNs, size, ino } = await stat(file, { bigint: true });
    return `${mtimeNs} ${size} ${ino}`;
  } catch (error) {
    return messageOf(error);
  }
}

function headersOf(http: RawWebConfig["http_server_config"]): Readonly<Record<string, string>> {
  const entries = Object.entries(http?.headers ?? {});
  return Object.fromEntries(entries.flatMap(([name, value]) => (value ? [[name, value]] : [])));
}

async function tlsOf(raw: RawTlsServer, read: (file: string) => Promise<Buffer>): Promise<WebTls> {
  const context: SecureContextOptions = {
    cert: await read(raw.cert_file),
    key: await read(raw.key_file),
    minVersion: raw.min_version === "TLS12" ? "TLSv1.2" : "TLSv1.3",
    maxVersion: raw.max_version === "TLS12" ? "TLSv1.2" : "TLSv1.3",
    honorCipherOrder: raw.prefer_server_cipher_suites,
    ...(raw.client_ca_file !== undefined && { ca: await read(raw.client_ca_file) }),
    ...(raw.cipher_suites?.length && { ciphers: opensslCiphers(raw.cipher_suites) }),
    ...(raw.curve_preferences?.length && {
      ecdhCurve: raw.curve_preferences.map((c) => CURVES.get(c)).join(":"),
    }),
  };
  try {
    createSecureContext(context);
  } catch (error) {
    throw new Error(`"${raw.cert_file}" and "${raw.key_file}" make no certificate: ${messageOf(error)}`, {
      cause: error,
    });
  }
  return { clientAuth: raw.client_auth_type, context };
}

function opensslCiphers(names: readonly string[]): string {
  return [...new Set([...TLS13_CIPHERS, ...names.map((name) => CIPHERS.get(name))])].join(":");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
