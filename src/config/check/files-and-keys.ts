import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { createSecureContext } from "node:tls";
import type { SecretSource } from "../../kernel/config/config.ts";
import { codeOf } from "../../kernel/text/escape.ts";
import { walk } from "../keys/notes.ts";
import { mappingOf } from "../keys/rules.ts";
import type { Environment } from "../read/interpolate.ts";
import { certificatesIn, isCertificate } from "../../platform/certificates.ts";
import { fileProblem, readRegularFile } from "../../platform/regular-file.ts";
import { openSecret } from "../../platform/secret.ts";
import { complain, complainOfValue, type Complaint } from "../read/fault.ts";
import type { Path } from "../read/tree.ts";
import { IN_QUOTES, shownFile } from "../read/wording.ts";
import type { ConfigSchema } from "../schema/schema.ts";
import type { SoundConfig } from "./validate.ts";

/** A config names these, and they are not in it: files, and where keys are found. */
export type Named = {
  readonly files: readonly { readonly path: Path; readonly file: string; readonly kind: string }[];
  readonly sources: readonly {
    readonly path: Path;
    readonly source: SecretSource;
    readonly isUrl: boolean;
  }[];
  readonly expressions: readonly { readonly path: Path; readonly pattern: string }[];
  /** Whose the key of an upstream is, by its place in the list. */
  readonly users: ReadonlyMap<number, string>;
};

/** Finds what the valid parts of a config name, by what the schema notes of its keys. */
export function namedIn({ written, general, upstreams }: SoundConfig, { config }: ConfigSchema): Named {
  const files: Named["files"][number][] = [];
  const sources: Named["sources"][number][] = [];
  const expressions: Named["expressions"][number][] = [];
  const users = new Map<number, string>();
  walk(config, written, (path, value, { file: kind, isSource, isUrl = false, isUser, isExpression }) => {
    const [section, index] = path;
    // All of `defaults` is in the upstreams too.
    const isValid =
      section === "upstreams"
        ? typeof index === "number" && upstreams.has(index)
        : section !== "defaults" && general !== undefined;
    if (!isValid) return;
    const { env, file } = mappingOf(value);
    if (isSource && typeof env === "string") sources.push({ path, source: { env }, isUrl });
    else if (isSource && typeof file === "string") sources.push({ path, source: { file }, isUrl });
    if (typeof value !== "string") return;
    if (isExpression) expressions.push({ path, pattern: value });
    if (isUser && typeof index === "number") users.set(index, value);
    if (kind !== undefined) files.push({ path, file: value, kind });
  });
  return { files, sources, expressions, users };
}

type Opened = {
  readonly complaints: readonly Complaint[];
  /** The upstreams' keys by their names: only to be compared, never to be shown. */
  readonly keys: ReadonlyMap<string, string>;
  /** Key files that every user of this machine can read. */
  readonly warnings: readonly Complaint[];
  /** All that was read where a key is found. */
  readonly secrets: ReadonlySet<string>;
};

/** Tries to read all keys and files that a config names. */
export async function openFilesAndKeys(
  { files, sources, users }: Named,
  upstreams: SoundConfig["upstreams"],
  environment: Environment,
): Promise<Opened> {
  const keys = new Map<string, string>();
  const secrets = new Set<string>();
  const oddities: Complaint[] = [];
  const openKey = async ({
    path,
    source,
    isUrl,
  }: Named["sources"][number]): Promise<readonly Complaint[]> => {
    const opening = await openSecret(source, environment, () => {});
    if (opening.kind === "refused") {
      const at = [...path, ...Object.keys(source)];
      return opening.faults.map((fault) => complain(at, (nameOf) => `"${nameOf(at)}": ${fault}`));
    }
    const secret = await opening.what();
    secrets.add(secret);
    const odd = oddityOf(secret, path.at(-1) === "bearer");
    if (odd !== undefined) oddities.push(complainOfValue(path, `holds a key ${odd}`));
    if (isUrl && !isHttpUrl(secret)) return [complainOfValue(path, "must hold an http:// or https:// URL")];
    const index = path[0] === "upstreams" ? Number(path[1]) : -1;
    const name = upstreams.get(index)?.name;
    // Two clients or users may have the same secret only by mistake: what may be shared is a client.
    if (name !== undefined) keys.set(name, `${users.get(index) ?? ""} ${secret}`);
    return [];
  };
  const sections = Map.groupBy(
    files.filter(({ kind }) => kind === "certificates"),
    ({ path }) => JSON.stringify(path.slice(0, -1)),
  );
  const complaints = await Promise.all([
    ...sources.map(openKey),
    ...[...sections.values()].map(checkTlsFiles),
    ...files.map(async ({ kind, file, path }) =>
      kind === "written" ? await complaintsOfPlace(file, path) : [],
    ),
  ]);
  const keyFiles = [
    ...sources.flatMap(({ path, source: { file } }) => (file === undefined ? [] : [{ path, file }])),
    ...files.filter(({ path }) => path.at(-1) === "key_file"),
  ];
  const warnings = await Promise.all(keyFiles.map(warningOfKeyFile));
  return { complaints: complaints.flat(), warnings: [...oddities, ...warnings.flat()], keys, secrets };
}

/** Whoever answers says only that the key is wrong. */
function oddityOf(key: string, isBearer: boolean): string | undefined {
  if (IN_QUOTES.test(key)) return "with quotes around it, which are sent too";
  return isBearer && /^Bearer /i.test(key)
    ? 'that begins with "Bearer", which is sent before it anyway'
    : undefined;
}

async function warningOfKeyFile({
  path,
  file,
}: Pick<Named["files"][number], "path" | "file">): Promise<readonly Complaint[]> {
  if (!(await canAnybodyRead(file))) return [];
  const says = `is a file that every user of this machine can read: chmod 600${shownFile(file)}`;
  return [{ ...complainOfValue(path, says), exposesKey: true }];
}

/** The file, through all folders that lead to it. */
async function canAnybodyRead(file: string): Promise<boolean> {
  try {
    let place = await realpath(file);
    if (((await stat(place)).mode & constants.S_IROTH) === 0) return false;
    while (place !== dirname(place)) {
      place = dirname(place);
      if (((await stat(place)).mode & constants.S_IXOTH) === 0) return false;
    }
    return true;
  } catch {
    return false;
  }
}

function isHttpUrl(text: string): boolean {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? "");
}

/** The files of one section belong together: a certificate and its key. */
async function checkTlsFiles(section: Named["files"]): Promise<readonly Complaint[]> {
  const read = (key: string): Promise<NamedFile> => {
    const named = section.find(({ path }) => path.at(-1) === key);
    return readNamedFile(named?.file, named?.path ?? []);
  };
  return checkCertificates({
    ca: await read("ca_file"),
    cert: await read("cert_file"),
    key: await read("key_file"),
  });
}

export function checkCertificates({
  ca,
  cert,
  key,
}: Readonly<Record<"ca" | "cert" | "key", NamedFile>>): readonly Complaint[] {
  const complaints = [...ca.complaints, ...cert.complaints, ...key.complaints];
  if (ca.text !== undefined && certificatesIn(ca.text) === undefined) complaints.push(notPem(ca.path));
  if (cert.text === undefined || key.text === undefined) return complaints;
  if (!isCertificate(cert.text)) return [...complaints, notPem(cert.path)];
  if (fitTogether(cert.text, key.text)) return complaints;
  const must = "must contain the PEM key of cert_file, without a passphrase";
  return [...complaints, complainOfValue(key.path, must)];
}

export type ReadFile = (file: string) => Promise<Buffer>;

/** A file that the config names at this path, and its content. */
export type NamedFile = {
  readonly path: Path;
  readonly bytes: Buffer | undefined;
  readonly text: string | undefined;
  readonly complaints: readonly Complaint[];
};

export async function readNamedFile(
  file: string | undefined,
  path: Path,
  read: ReadFile = (name) => readRegularFile(name),
): Promise<NamedFile> {
  if (file === undefined) return { path, bytes: undefined, text: undefined, complaints: [] };
  try {
    const bytes = await read(file);
    return { path, bytes, text: bytes.toString("utf8"), complaints: [] };
  } catch (error) {
    const must = `must be a readable file: ${fileProblem(error)}${shownFile(file)}`;
    return { path, bytes: undefined, text: undefined, complaints: [complainOfValue(path, must)] };
  }
}

/** A file that Pacewatch writes may not be there yet, but its place must be. The file itself is not opened: a daemon may hold it. */
async function complaintsOfPlace(file: string, path: Path): Promise<readonly Complaint[]> {
  const why = await placeProblem(file);
  return why === undefined ? [] : [complainOfValue(path, `must be a file that can be written: ${why}`)];
}

async function placeProblem(file: string): Promise<string | undefined> {
  let place = file;
  for (;;) {
    try {
      const found = await stat(place);
      if (place === file && !found.isFile()) return `it is not a file${shownFile(place)}`;
      if (place !== file && !found.isDirectory())
        return `it is in what is not a directory${shownFile(place)}`;
      await access(place, place === file ? constants.R_OK | constants.W_OK : constants.W_OK | constants.X_OK);
      return undefined;
    } catch (error) {
      // A directory that is missing is made.
      if (codeOf(error) !== "ENOENT" || dirname(place) === place)
        return `${fileProblem(error)}${shownFile(place)}`;
      place = dirname(place);
    }
  }
}

function notPem(path: Path): Complaint {
  return complainOfValue(path, "must contain a PEM certificate");
}

function fitTogether(cert: string, key: string): boolean {
  try {
    createSecureContext({ cert, key });
    return true;
  } catch {
    return false;
  }
}
