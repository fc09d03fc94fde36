import { X509Certificate } from "node:crypto";

const BEGIN = "-----BEGIN ";

/**
 * The certificates of a PEM file; undefined unless there is one at least and all of them can be read. Node.js ignores
 * those that it cannot read, and a file that is being written may end in the middle of one: what is signed by those
 * behind it would be rejected.
 */
export function certificatesIn(pem: string): readonly string[] | undefined {
  if (pem === last?.pem) return last.blocks;
  const [, ...bodies] = pem.split(BEGIN);
  const blocks = bodies.map((body) => BEGIN + body);
  if (blocks.length === 0 || !blocks.every(isCertificate)) return undefined;
  last = { pem, blocks };
  return blocks;
}

/** A thousand upstreams may name one file: to look at its authorities takes 13 ms each time. */
let last: { readonly pem: string; readonly blocks: readonly string[] } | undefined;

export function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).serialNumber !== "";
  } catch {
    return false;
  }
}
