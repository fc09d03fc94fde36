import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { Auth, Config, Fleet, SecretSource, Tls, Upstream } from "../../core/config/config.ts";
import { complain, type Complaint } from "./complaint.ts";
import { fileProblem, openSecret } from "../read/secrets.ts";
import type { Environment } from "../read/interpolate.ts";
import type { Path } from "../read/tree.ts";
import { nameOfPath } from "./wording.ts";

/** Whether the keys and files that a config names can be read. */
export type UpstreamResources = {
  readonly complaints: readonly Complaint[];
  /** Only to find out whether two upstreams use the same one. */
  readonly key: string | undefined;
};

export async function openResources(
  upstream: Upstream,
  path: Path,
  environment: Environment,
): Promise<UpstreamResources> {
  const { complaints, key } = await openKey(upstream.auth, [...path, "auth"], environment);
  return { key, complaints: [...complaints, ...(await checkTlsFiles(upstream.tls, [...path, "tls"]))] };
}

export async function checkWebFile(web: Config["web"]): Promise<readonly Complaint[]> {
  const file = await readNamedFile(web.configFile, ["web", "config_file"]);
  return file.complaints;
}

export async function checkFleetFiles(
  { redis }: Fleet,
  environment: Environment,
): Promise<readonly Complaint[]> {
  const path = ["fleet", "redis"];
  const files = redis.tls === undefined ? [] : await checkTlsFiles(redis.tls, path);
  if (redis.password === undefined) return files;
  return [...files, ...(await openSource(redis.password, [...path, "password"], environment)).complaints];
}

async function openKey(auth: Auth, path: Path, environment: Environment): Promise<UpstreamResources> {
  if (auth.kind === "none") return { complaints: [], key: undefined };
  return openSource(auth.secret, [...path, auth.kind], environment);
}

async function openSource(
  source: SecretSource,
  path: Path,
  environment: Environment,
): Promise<UpstreamResources> {
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
  if (ca.text !== undefined && !isCertificate(ca.text)) complaints.push(notPem(ca.path));
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
  readonly text: string | undefined;
  readonly complaints: readonly Complaint[];
};

export async function readNamedFile(
  file: string | undefined,
  path: Path,
  read: ReadFile = (name) => readFile(name),
): Promise<NamedFile> {
  if (file === undefined) return { path, text: undefined, complaints: [] };
  try {
    return { path, text: (await read(file)).toString("utf8"), complaints: [] };
  } catch (error) {
    const message = `"${nameOfPath(path)}" must be a readable file: ${fileProblem(error)}`;
    return { path, text: undefined, complaints: [complain(path, message)] };
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

function fitTogether(cert: string, key: string): boolean {
  try {
    createSecureContext({ cert, key });
    return true;
  } catch {
    return false;
  }
}
