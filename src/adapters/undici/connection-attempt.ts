import { isIP, type LookupFunction, Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from "node:tls";
import { PeerCertificate } from "./certificate.ts";
import { isLineLost, isTlsBroken, LineLost, WireError } from "./faults.ts";
import type { PhaseTimer } from "./phases.ts";
import { openTunnel } from "./tunnel.ts";
import type { Route } from "./route.ts";
import { EventEmitter } from "node:events";

const KEEP_ALIVE_PROBE_AFTER_MS = 60_000;

/** A destroyed socket always closes; should one not, a lease must not wait for it for ever. */
const CLOSE_GUARD_MS = 5_000;

type Done = (error: Error | undefined, socket: Socket) => void;

/** One connection, from the first question to the resolver until all that it is made of has closed. */
export class ConnectionAttempt {
  readonly #way: Route;
  readonly #timer: PhaseTimer;
  readonly #done: Done;
  readonly #base = new ResettableSocket();
  /** The base, and the TLS that lies upon it: to the proxy, to the upstream. */
  readonly #sockets: Socket[] = [];
  readonly #closed = Promise.withResolvers<void>();
  #open = 0;
  #told = false;
  #cut = false;
  #reset = false;
  #alert: Error | undefined;
  #certificateExpiresAtMs: number | undefined;

  constructor(way: Route, timer: PhaseTimer, done: Done) {
    this.#way = way;
    this.#timer = timer;
    this.#done = done;
    this.#dial();
  }

  /** Whether the other side, or the network, has ended the connection. */
  get cut(): boolean {
    return this.#cut;
  }

  get reset(): boolean {
    return this.#reset;
  }

  /** What the other side, or the record layer, broke TLS off with. */
  get alert(): Error | undefined {
    return this.#alert;
  }

  get bytesRead(): number {
    return this.#sockets.at(-1)?.bytesRead ?? 0;
  }

  /** Whether it has been destroyed, by whomever. */
  get isEnding(): boolean {
    return this.#sockets.at(-1)?.destroyed === true;
  }

  /** When every socket has really closed. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  get certificateExpiresAtMs(): number | undefined {
    return this.#certificateExpiresAtMs;
  }

  /** Breaks it off; resolves when every socket has really closed. */
  async destroy(): Promise<void> {
    this.#told = true;
    this.#abandon();
    if (this.#open === 0) return;
    const guard = setTimeout(() => this.#closed.resolve(), CLOSE_GUARD_MS);
    await this.#closed.promise;
    clearTimeout(guard);
  }

  #dial(): void {
    const { host, port } = this.#way.proxy ?? this.#way;
    this.#timer.enter(isIP(host) === 0 ? "dns" : "connect");
    this.#own(this.#base);
    this.#base.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_PROBE_AFTER_MS);
    this.#base.once("connect", () => this.#connected(this.#base));
    this.#base.connect({
      host,
      port,
      lookup: this.#lookup,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: this.#way.familyAttemptMs,
    });
  }

  /** The socket's own "lookup" event comes with errors too; here success and failure are apart. */
  readonly #lookup: LookupFunction = (hostname, options, callback) => {
    this.#way.lookup(hostname, options, (error, address, family) => {
      if (error === null) this.#timer.enter("connect");
      callback(error, address, family);
    });
  };

  #connected(socket: Socket): void {
    if (this.#told) return;
    const { proxy, material } = this.#way;
    if (proxy === undefined || !proxy.secure || material === undefined) return this.#reachedPeer(socket);
    const name = isIP(proxy.host) === 0 ? { servername: proxy.host } : {};
    const options = { socket, host: proxy.host, secureContext: material.proxy, ...name };
    const secured = connectTls(options, () => this.#reachedPeer(secured));
    this.#own(secured);
  }

  #reachedPeer(socket: Socket): void {
    const { proxy, host, port, tls } = this.#way;
    if (proxy === undefined || tls === undefined) return this.#secure(socket);
    const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
    openTunnel(socket, authority, proxy, (error) => {
      if (error === undefined) this.#secure(socket);
      else this.#tell(error, socket);
    });
  }

  #secure(socket: Socket): void {
    if (this.#told) return;
    const { tls, material } = this.#way;
    if (tls === undefined || material === undefined) return this.#tell(undefined, socket);
    this.#timer.enter("tls");
    const options: ConnectionOptions = {
      socket,
      host: tls.name,
      secureContext: material.upstream,
      ALPNProtocols: ["http/1.1"],
      checkServerIdentity: () => certificate.identityFault(tls.name),
      // Checked in #verified, before any byte of the request: a connection that Node.js refuses by itself shows no
      // certificate any more, and an expired one is what people most want to see.
      rejectUnauthorized: false,
      ...(isIP(tls.name) === 0 ? { servername: tls.name } : {}),
    };
    const secured = connectTls(options, () => {
      this.#certificateExpiresAtMs = certificate.chainExpiresAtMs;
      this.#verified(secured, tls.name, tls.verify);
    });
    const certificate = new PeerCertificate(secured);
    this.#own(secured);
  }

  #verified(socket: TLSSocket, name: string, verify: boolean): void {
    if (socket.authorized || !verify) return this.#tell(undefined, socket);
    const reason = String(socket.authorizationError);
    this.#tell(new WireError("tls", `the certificate that ${name} shows is refused: ${reason}`), socket);
  }

  #own(socket: Socket): void {
    this.#sockets.push(socket);
    this.#open += 1;
    socket.on("error", (error) => {
      if (isLineLost(error)) this.#cut = this.#reset = true;
      if (isTlsBroken(error)) this.#alert ??= error;
      this.#tell(error, socket);
    });
    socket.on("end", () => {
      this.#cut = true;
    });
    socket.once("close", () => {
      if (!this.#told) this.#tell(new LineLost(), socket);
      detachListeners(socket);
      this.#open -= 1;
      if (this.#open === 0) this.#closed.resolve();
    });
  }

  /** Once; a socket that was told of as usable belongs to the library from then on. */
  #tell(error: Error | undefined, socket: Socket): void {
    if (this.#told) return;
    this.#told = true;
    if (error === undefined) return this.#done(undefined, socket);
    this.#abandon();
    this.#done(error, socket);
  }

  #abandon(): void {
    if (!this.#sockets.some((socket) => socket.writableEnded)) this.#base.resetWhenDestroyed();
    for (const socket of this.#sockets.toReversed()) socket.destroy();
  }
}

/**
 * A socket that can be told to end with a reset. A mere close leaves the kernel sending what it still holds, for
 * minutes where packets are lost, and a request that was given up would be counted long after.
 *
 * It is told beforehand because TLS, laid over it, must be the one to close it: a socket that is reset beneath living
 * TLS crashes Node.js 24.
 */
class ResettableSocket extends Socket {
  #resets = false;

  resetWhenDestroyed(): void {
    this.#resets = true;
  }

  /** While it connects there is nothing to reset; after its own end was sent the system refuses to. */
  override destroy(error?: Error): this {
    const resets = this.#resets && !this.destroyed && !this.connecting && !this.writableEnded;
    this.#resets = false;
    return resets ? this.resetAndDestroy() : super.destroy(error);
  }
}

/**
 * Cuts a closed socket off from those who listened to it. V8 puts a function that is assigned to a property into the
 * old heap at once, and Node.js gives each socket one, `onwrite`: so a socket that nobody holds any more outlives every
 * small collection, and with it whatever it refers to.
 */
function detachListeners(socket: Socket): void {
  // That of streams looks after the reading too, which is over.
  EventEmitter.prototype.removeAllListeners.call(socket);
  socket.on("error", ignore);
}

function ignore(): void {}
