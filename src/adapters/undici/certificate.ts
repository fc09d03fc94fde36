import type { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { type TLSSocket, checkServerIdentity } from "node:tls";

/** No sane chain is longer; a loop of issuers ends here. */
const CHAIN_MAX = 16;

/** What the other side of a connection has shown. */
export class PeerCertificate {
  readonly #socket: TLSSocket;
  #shown: X509Certificate | undefined;

  /** Of a connection that is only beginning. */
  constructor(socket: TLSSocket) {
    this.#socket = socket;
    // Before it asks who the other side is, Node.js describes its whole chain in plain objects, whether or not
    // anybody reads them: a seventh of what a handshake costs.
    Object.defineProperty(socket, "getPeerCertificate", { value: () => ({}) });
  }

  /** Undefined where the name is in it. OpenSSL says so at once; where it does not, Node.js has the last word. */
  identityFault(name: string): Error | undefined {
    const certificate = this.#certificate();
    if (certificate === undefined) return new Error("no certificate was shown");
    const found = isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name);
    return found === undefined ? checkServerIdentity(name, certificate.toLegacyObject()) : undefined;
  }

  /** The earliest end of validity in the chain; undefined where the connection shows none. */
  get chainExpiresAtMs(): number | undefined {
    let certificate = this.#certificate();
    let earliestMs = Number.POSITIVE_INFINITY;
    for (let depth = 0; certificate !== undefined && depth < CHAIN_MAX; depth += 1) {
      earliestMs = Math.min(earliestMs, certificate.validToDate.getTime());
      certificate = certificate.issuerCertificate;
    }
    return Number.isFinite(earliestMs) ? earliestMs : undefined;
  }

  /** Asked once a connection: asking empties the chain. */
  #certificate(): X509Certificate | undefined {
    return (this.#shown ??= this.#socket.getPeerX509Certificate());
  }
}
