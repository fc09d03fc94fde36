import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import type { Fleet, SecretSource, Tls } from "../../core/config/config.ts";
import { complain, type Complaint } from "./faults.ts";
import { fileProblem, openSecret } from "../read/secrets.ts";
import type { Environment } from "../read/interpolate.ts";
import { readRegularFile } from "../read/regular-file.ts";
import type { Path } from "../read/tree.ts";
import type { Parts } from "./validate.ts";
import { nameOfPath } from "../read/wording.ts";

type Opened = {
  readonly complaints: readonly Complaint[];
  /** The upstreams' keys by their names: only to be compared, never to be shown. */
  readonly keys: ReadonlyMap<string, string>;
};

/** Each once. */
export function filesNamed({
  general,
  upstreams,
}: Pick<Parts, "general" | "upstreams">): ReadonlySet<string> {
  const redis = general?.fleet?.redis;
  const owners = [...upstreams.values()];
  const secrets = [
    redis?.password,
    ...owners.map(({ auth }) => (auth.kind === "none" ? undefined : auth.secret)),
  ];
  const files = [
    general?.web.configFile,
    ...secrets.map((secret) => (secret?.from === "file" ? secret.path : undefined)),
    ...[redis?.tls, ...owners.map(({ tls }) => tls)].flatMap((tls) => [
      tls?.caFile,
      tls?.certFile,
      tls?.keyFile,
    ]),
    ...owners.map(({ auth }) => (auth.kind === "oauth2" ? auth.token.caFile : undefined)),
  ];
  return new Set(files.filter((file) => file !== undefined));
}

/** Tries to read all keys and files that a config names. */
export async function openFilesAndKeys(
  { general, upstreams }: Pick<Parts, "general" | "upstreams">,
  environment: Environment,
): Promise<Opened> {
  const keys = new Map<string, string>();
  const web = await readNamedFile(general?.web.configFile, ["web", "config_file"]);
  const fleet = general?.fleet === undefined ? [] : await checkFleetFiles(general.fleet, environment);
  const opened = await Promise.all(
    [...upstreams].map(async ([index, { name, auth, tls }]) => {
      const path = ["upstreams", index];
      const complaints = await checkTlsFiles(tls, [...path, "tls"]);
      if (auth.kind === "none") return complaints;
      const place = [...path, "auth", auth.kind];
      if (auth.kind === "oauth2") {
        const { caFile } = auth.token;
        const source = await openSource(auth.secret, [...place, "client_secret"], environment);
        // Two clients may have the same secret only by mistake: what may be shared is a client.
        if (source.key !== undefined) keys.set(name, `${auth.token.clientId} ${source.key}`);
        const files = { caFile, certFile: undefined, keyFile: undefined };
        return [...complaints, ...source.complaints, ...(await checkTlsFiles(files, place))];
      }
      const source = await openSource(auth.secret, place, environment);
      if (source.key !== undefined) keys.set(name, source.key);
      return [...source.complaints, ...complaints];
    }),
  );
  return { complaints: [...web.complaints, ...fleet, ...opened.flat()], keys };
}

async function checkFleetFiles({ redis }: Fleet, environment: Environment): Promise<readonly Complaint[]> {
  const path = ["fleet", "redis"];
  const files = redis.tls === undefined ? [] : await checkTlsFiles(redis.tls, path);
  if (redis.password === undefined) return files;
  return [...files, ...(await openSource(redis.password, [...path, "password"], environment)).complaints];
}

async function openSource(
  source: SecretSource,
  path: Path,
  environment: Environment,
): Promise<{ readonly complaints: readonly Complaint[]; readonly key: string | undefined }> {
  const opening = await openSecret(source, environment, () => {});
  if (opening.kind === "opened") return { complaints: [], key: await opening.secret.read() };
  const at = [...path, source.from];
  return { complaints: [complain(at, `"${nameOfPath(at)}": ${opening.message}`)], key: undefined };
}

async function checkTlsFiles(
  tls: Pick<Tls, "caFile" | "certFile" | "keyFile">,
  path: Path,
): Promise<readonly Complaint[]> {
  return checkCertificates({
    ca: await readNamedFile(tls.caFile, [...path, "ca_file"]),
    cert: await readNamedFile(tls.certFile, [...path, "cert_file"]),
    key: await readNamedFile(tls.keyFile, [...path, "key_file"]),
  });
}

export function checkCertificates({
  ca,
  cert,
  key,
}: Readonly<Record<"ca" | "cert" | "key", NamedFile>>): readonly Complaint[] {
  const complaints = [...ca.complaints, ...cert.complaints, ...key.complaints];
  if (ca.text !== undefined && !areCertificates(ca.text)) complaints.push(notPem(ca.path));
  if (cert.text === undefined || key.text === undefined) return complaints;
  if (!isCertificate(cert.text)) return [...complaints, notPem(cert.path)];
  if (fitTogether(cert.text, key.text)) return complaints;
  const must = `"${nameOfPath(key.path)}" must contain the PEM key of cert_file, without a passphrase`;
  return [...complaints, complain(key.path, must)];
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
    const message = `"${nameOfPath(path)}" must be a readable file: ${fileProblem(error)}`;
    return { path, bytes: undefined, text: undefined, complaints: [complain(path, message)] };
  }
}

function notPem(path: Path): Complaint {
  return complain(path, `"${nameOfPath(path)}" must contain a PEM certificate`);
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).serialNumber !== "";
  } catch {
    return false;
  }
}

/** Each of them: Node.js ignores those that it cannot read, and a file that is cut short ends within one. */
function areCertificates(pem: string): boolean {
  if (pem === lastSound) return true;
  const [, ...blocks] = pem.split(BEGIN);
  const areSound = blocks.length > 0 && blocks.every((block) => isCertificate(BEGIN + block));
  if (areSound) lastSound = pem;
  return areSound;
}

const BEGIN = "-----BEGIN ";
/** A thousand upstreams may name one file. */
let lastSound: string | undefined;

function fitTogether(cert: string, key: string): boolean {
  try {
    createSecureContext({ cert, key });
    return true;
  } catch {
    return false;
  }
}
