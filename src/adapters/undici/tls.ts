import { createHash, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type SecureContext, createSecureContext } from "node:tls";
import type { Tls } from "../../core/config/config.ts";
import { codeOf } from "./faults.ts";

const REREAD_AFTER_MS = 10_000;

type Pem = {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
};

type Contexts = { readonly pem: Pem; readonly upstream: SecureContext; readonly proxy: SecureContext };

/** Upstreams that trust the same roots share them: a thousand copies would take 80 MB. */
const inUse = new Map<string, WeakRef<Contexts>>();

/** The trust and the identity of one probe: shared by all its connections, and renewed when their files change. */
export class TlsMaterial {
  readonly #files: Tls;
  #contexts: Contexts;
  #readAtMs: number;
  #reading = false;

  private constructor(files: Tls, pem: Pem, nowMs: number) {
    this.#files = files;
    this.#contexts = contextsOf(pem);
    this.#readAtMs = nowMs;
  }

  /** Throws one sentence where a file cannot be used. */
  static async load(files: Tls, nowMs: number): Promise<TlsMaterial> {
    return new TlsMaterial(files, await readPem(files), nowMs);
  }

  get upstream(): SecureContext {
    return this.#contexts.upstream;
  }

  /** The same roots, but never our client certificate. */
  get proxy(): SecureContext {
    return this.#contexts.proxy;
  }

  /** Certificates rotate while we run. Never waited for: the next connection has the new ones. */
  refresh(nowMs: number): void {
    const { caFile, certFile, keyFile } = this.#files;
    if (caFile === undefined && certFile === undefined && keyFile === undefined) return;
    if (this.#reading || nowMs - this.#readAtMs < REREAD_AFTER_MS) return;
    this.#reading = true;
    this.#readAtMs = nowMs;
    void this.#reread();
  }

  /** Half-written files are the usual failure: what was read last stays until the next look. */
  async #reread(): Promise<void> {
    try {
      const pem = await readPem(this.#files);
      const before = this.#contexts.pem;
      const changed = pem.ca !== before.ca || pem.cert !== before.cert || pem.key !== before.key;
      if (changed) this.#contexts = contextsOf(pem);
    } catch {
      return;
    } finally {
      this.#reading = false;
    }
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
    return await readFile(path, "utf8");
  } catch (error) {
    throw new Error(
      `cannot use TLS: "${name}" must be a readable file, received ${path} (${codeOf(error) ?? "unreadable"})`,
      { cause: error },
    );
  }
}

function contextsOf(pem: Pem): Contexts {
  const name = createHash("sha256").update(JSON.stringify(pem)).digest("base64");
  const known = inUse.get(name)?.deref();
  if (known !== undefined) return known;
  const contexts = makeContexts(pem);
  for (const [other, reference] of inUse) if (reference.deref() === undefined) inUse.delete(other);
  inUse.set(name, new WeakRef(contexts));
  return contexts;
}

function makeContexts(pem: Pem): Contexts {
  const roots = pem.ca === undefined ? {} : { ca: certificatesOf(pem.ca) };
  const identity = {
    ...(pem.cert === undefined ? {} : { cert: pem.cert }),
    ...(pem.key === undefined ? {} : { key: pem.key }),
  };
  try {
    const proxy = createSecureContext(roots);
    const alone = pem.cert === undefined && pem.key === undefined;
    return { pem, proxy, upstream: alone ? proxy : createSecureContext({ ...roots, ...identity }) };
  } catch (error) {
    throw new Error(
      `cannot use TLS: "tls.cert_file" and "tls.key_file" must be a PEM certificate and its own key without a ` +
        `passphrase (${codeOf(error) ?? "unusable"})`,
      { cause: error },
    );
  }
}

/** Node.js silently ignores roots that it cannot read, and would then trust nobody: so each is read here first. */
function certificatesOf(pem: string): string[] {
  const blocks =
    pem.match(/-----BEGIN [A-Z0-9 ]*CERTIFICATE-----[^-]+-----END [A-Z0-9 ]*CERTIFICATE-----/g) ?? [];
  try {
    if (blocks.length > 0 && blocks.every((block) => new X509Certificate(block).serialNumber !== ""))
      return blocks;
  } catch (error) {
    throw new Error(
      `cannot use TLS: "tls.ca_file" must hold PEM certificates (${codeOf(error) ?? "unreadable"})`,
      { cause: error },
    );
  }
  throw new Error('cannot use TLS: "tls.ca_file" must hold PEM certificates, received none');
}
