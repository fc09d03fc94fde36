import { dirname, resolve } from "node:path";
import { createSecureContext } from "node:tls";
import type { WebConfig, WebTls } from "../../kernel/config/web-config.ts";
import { messageOf } from "../../kernel/text/escape.ts";
import { faultsOf, schemaComplaints } from "../check/faults.ts";
import { checkCertificates, type NamedFile, readNamedFile, type ReadFile } from "../check/files-and-keys.ts";
import { plainOf } from "../check/plain.ts";
import { type Complaint, complain, type Fault, listed } from "../read/fault.ts";
import { fileProblem } from "../../platform/regular-file.ts";
import { type YamlReading, readYaml } from "../read/yaml.ts";
import { type UnopenedTls, type UnopenedWebConfig, webConfigSchema } from "./schema.ts";

type Reading =
  | { readonly kind: "opened"; readonly what: WebConfig }
  | { readonly kind: "refused"; readonly faults: readonly Fault[] };

/** Reads the file and the certificates that it names, and tries them; their paths are relative to its directory. */
export async function readWebConfig(path: string, read: ReadFile): Promise<Reading> {
  let bytes: Uint8Array;
  try {
    bytes = await read(path);
  } catch (error) {
    const message = `cannot read web config: ${fileProblem(error)}`;
    return refused([{ file: path, line: 1, column: 1, message }]);
  }
  const parsed = parseWebConfig(bytes, path);
  if (parsed.kind === "refused") return refused(parsed.faults);
  const { tls, headers, users } = parsed.config;
  if (tls === undefined) return { kind: "opened", what: { tls, headers, users } };
  const opened = await openTls(tls, dirname(path), read);
  if ("complaints" in opened) return refused(faultsOf(opened.complaints, parsed.reading));
  return { kind: "opened", what: { tls: opened, headers, users } };
}

export type ParsedWebConfig =
  | { readonly kind: "parsed"; readonly config: UnopenedWebConfig; readonly reading: YamlReading }
  | { readonly kind: "refused"; readonly faults: readonly Fault[] };

export function parseWebConfig(bytes: Uint8Array, file: string): ParsedWebConfig {
  const reading = readYaml(bytes, file);
  const { tree, faults } = reading;
  if (tree === undefined) return { kind: "refused", faults };
  if (tree.kind === "scalar" && tree.value === null) {
    // Perhaps its content is lost, and with it who may read.
    const message = "the web config is empty: write {} to serve everybody, over plain HTTP";
    return { kind: "refused", faults: [...faults, { file, line: 1, column: 1, message }] };
  }
  const result = webConfigSchema.safeParse(plainOf(tree, undefined, ""));
  if (result.success && faults.length === 0) return { kind: "parsed", config: result.data, reading };
  const complaints = result.success ? [] : schemaComplaints(result.error.issues, webConfigSchema, tree);
  return { kind: "refused", faults: [...faults, ...faultsOf(complaints, reading)] };
}

function refused(faults: readonly Fault[]): Reading {
  return { kind: "refused", faults: listed(faults) };
}

const SECTION = "tls_server_config";

async function openTls(
  { files, clientAuth, options }: UnopenedTls,
  directory: string,
  read: ReadFile,
): Promise<WebTls | { readonly complaints: readonly Complaint[] }> {
  const open = (key: keyof typeof files): Promise<NamedFile> => {
    const file = files[key];
    return readNamedFile(file === undefined ? file : resolve(directory, file), [SECTION, key], read);
  };
  const [cert, key, ca] = [await open("cert_file"), await open("key_file"), await open("client_ca_file")];
  const complaints = checkCertificates({ ca, cert, key });
  if (complaints.length > 0 || cert.text === undefined || key.text === undefined) return { complaints };
  const context = {
    ...options,
    cert: cert.text,
    key: key.text,
    ...(ca.text !== undefined && { ca: ca.text }),
  };
  try {
    createSecureContext(context);
  } catch (error) {
    return { complaints: [complain([SECTION], `"${SECTION}" cannot be used: ${messageOf(error)}`)] };
  }
  return { clientAuth, context };
}
