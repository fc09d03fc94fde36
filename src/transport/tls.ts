import { hash, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { checkServerIdentity, createSecureContext, type SecureContext, type TLSSocket } from "node:tls";
import type { Tls } from "../kernel/config/config.ts";
import { certificatesIn } from "../platform/certificates.ts";
import { followed, type Reading } from "../platform/followed.ts";
import { readRegularText } from "../platform/regular-file.ts";
import { codeOf, messageOf } from "../kernel/text/escape.ts";

const REREAD_AFTER_MS = 10_000;

type Pem = {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
};

type Contexts = {
  readonly upstream: SecureContext;
  /** The same roots, but never our client certificate. */
  readonly proxy: SecureContext;
};

/** Upstreams with the same PEM files share them: a thousand copies would take 80 MB. */
const inUse = new Map<string, WeakRef<Contexts>>();

/** The trusted roots and the client certificate of one probe, for all its connections. Reread, as files change. */
export type TlsMaterial = {
  readonly contexts: () => Contexts;
  /** Certificates rotate while we run. Nobody waits for this: the next connection uses the new ones. */
  readonly refresh: (nowMs: number) => void;
};

/**
 * Throws one sentence where a file cannot be used. `onWarning` is called when a file that has changed cannot be used,
 * and when all can be used again: once for each change, not for each attempt.
 */
export async function openTls(
  files: Tls,
  nowMs: number,
  onWarning: (message: string) => void,
): Promise<TlsMaterial> {
  const contexts = followed(
    contextsOf(await readPem(files)),
    () => rereadContexts(files),
    (problem) => onWarning(problem === undefined ? USABLE_AGAIN : `${problem}; what was read last is kept`),
  );
  const hasFiles = [files.caFile, files.certFile, files.keyFile].some((file) => file !== undefined);
  let readAtMs = nowMs;
  let isReading = false;
  const refresh = (nowMs: number): void => {
    if (!hasFiles || isReading || nowMs - readAtMs < REREAD_AFTER_MS) return;
    isReading = true;
    readAtMs = nowMs;
    void contexts.reread().finally(() => (isReading = false));
  };
  return { contexts: contexts.value, refresh };
}

const USABLE_AGAIN = "the TLS files can be used again";

async function rereadContexts(files: Tls): Promise<Reading<Contexts>> {
  try {
    return { kind: "read", value: contextsOf(await readPem(files)) };
  } catch (error) {
    return { kind: "unusable", problem: messageOf(error) };
  }
}

async function readPem(files: Tls): Promise<Pem> {
  const [ca, cert, key] = await Promise.all([
    readPart(files.caFile, "tls.ca_file"),
    readPart(files.certFile, "tls.cert_file"),
    readPart(files.keyFile, "tls.key_file"),
  ]);
  return { ca, cert, key };
}

async function readPart(path: string | undefined, name: string): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readRegularText(path);
  } catch (error) {
    throw unusable(`"${name}" must be a readable file, received ${path}`, error, "unreadable");
  }
}

function contextsOf(pem: Pem): Contexts {
  const name = hash("sha256", JSON.stringify(pem), "base64");
  const known = inUse.get(name)?.deref();
  if (known !== undefined) return known;
  const contexts = makeContexts(pem);
  for (const [other, reference] of inUse) if (reference.deref() === undefined) inUse.delete(other);
  inUse.set(name, new WeakRef(contexts));
  return contexts;
}

function makeContexts(pem: Pem): Contexts {
  const roots = pem.ca === undefined ? {} : { ca: rootsOf(pem.ca) };
  try {
    const proxy = createSecureContext(roots);
    const { cert, key } = pem;
    const isAlone = cert === undefined && key === undefined;
    return { proxy, upstream: isAlone ? proxy : createSecureContext({ ...roots, cert, key }) };
  } catch (error) {
    const wanted = "must be a PEM certificate and its own key without a passphrase";
    throw unusable(`"tls.cert_file" and "tls.key_file" ${wanted}`, error, "unusable");
  }
}

function rootsOf(pem: string): string[] {
  const roots = certificatesIn(pem);
  if (roots !== undefined) return [...roots];
  const received = pem.includes("-----BEGIN ") ? "a part of one" : "none";
  throw new Error(`cannot use TLS: "tls.ca_file" must hold PEM certificates, received ${received}`);
}

function unusable(fault: string, error: unknown, reason: string): Error {
  return new Error(`cannot use TLS: ${fault} (${codeOf(error) ?? reason})`, { cause: error });
}

/** No sane chain is longer; a loop of issuers ends here. */
const CHAIN_MAX = 16;

/** The certificate chain that the other side of a connection has shown. */
export class PeerCertificate {
  readonly #socket: TLSSocket;
  #shown: X509Certificate | undefined;

  /** Before the handshake. */
  constructor(socket: TLSSocket) {
    this.#socket = socket;
    // Before it checks the identity, Node.js asks the socket for the whole chain as plain objects, a seventh of what a
    // handshake costs. Nobody reads that copy, so the socket gives it an empty one.
    Object.defineProperty(socket, "getPeerCertificate", { value: () => ({}) });
  }

  /** Undefined where the certificate is for this name. OpenSSL is fast; if it says no, Node.js decides. */
  identityFault(name: string): Error | undefined {
    const certificate = this.#certificate();
    if (certificate === undefined) return new Error("no certificate was shown");
    const found = isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name);
    return found === undefined ? checkServerIdentity(name, certificate.toLegacyObject()) : undefined;
  }

  /** The earliest expiry in the chain; undefined without a certificate. */
  get chainExpiresAtMs(): number | undefined {
    let certificate = this.#certificate();
    let earliestMs = Number.POSITIVE_INFINITY;
    for (let depth = 0; certificate !== undefined && depth < CHAIN_MAX; depth += 1) {
      earliestMs = Math.min(earliestMs, certificate.validToDate.getTime());
      certificate = certificate.issuerCertificate;
    }
    return Number.isFinite(earliestMs) ? earliestMs : undefined;
  }

  /** The socket is asked once: asking empties the chain. */
  #certificate(): X509Certificate | undefined {
    return (this.#shown ??= this.#socket.getPeerX509Certificate());
  }
}
