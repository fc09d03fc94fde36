import type { LookupAddress } from "node:dns";
import { isIP, type LookupFunction, Socket, type SocketConstructorOpts } from "node:net";
import type { DuplexOptions } from "node:stream";
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from "node:tls";
import { callbackify } from "node:util";
import { ANSWER_READ, isConnectionLost, isTlsError, SOCKET_CLOSED, WireError } from "./faults.ts";
import type { PhaseTimer } from "./phases.ts";
import { openTunnel } from "./proxy.ts";
import { ALIVE_AFTER_MS, type Route } from "./route.ts";
import { PeerCertificate } from "./tls.ts";

/** A socket reads until it has so much ahead, and then once more. */
export const READ_AHEAD_BYTES = 16_384;

/** A destroyed socket always closes. If one does not, its lease must not wait for it forever. */
const CLOSE_GUARD_MS = 5_000;
const STACK_FRAMES = Error.stackTraceLimit;
const NOW: Promise<void> = Promise.resolve();

type Ready = (error: Error | undefined, socket: Socket) => void;

/** One connection, from the lookup of its name until every socket that it uses has closed. */
export class ConnectionAttempt {
  readonly #route: Route;
  readonly #timer: PhaseTimer;
  readonly #ready: Ready;
  readonly #gone: (connection: ConnectionAttempt) => void;
  readonly #tcp = new ResettableSocket();
  /** TCP first, then the TLS on top of it: to the proxy, to the upstream. */
  readonly #sockets: Socket[] = [];
  /** When every socket has really closed; only where somebody waits for that. */
  #closed: PromiseWithResolvers<void> | undefined;
  #openSockets = 0;
  #isReported = false;
  #isConnected = false;
  #isReset = false;
  #tlsError: Error | undefined;
  #certificateExpiresAtMs: number | undefined;

  /** `gone` hears of the end, when every socket has really closed. */
  constructor(
    route: Route,
    timer: PhaseTimer,
    ready: Ready,
    gone: (connection: ConnectionAttempt) => void = () => {},
  ) {
    this.#route = route;
    this.#timer = timer;
    this.#ready = ready;
    this.#gone = gone;
    this.#connect();
  }

  get isReset(): boolean {
    return this.#isReset;
  }

  /** The other side, or the network, has ended the connection. */
  get isLost(): boolean {
    return this.#isReset || this.#sockets.some((socket) => socket.readableEnded);
  }

  /** The alert of the other side, or the error of the record layer, that ended TLS. */
  get tlsError(): Error | undefined {
    return this.#tlsError;
  }

  get certificateExpiresAtMs(): number | undefined {
    return this.#certificateExpiresAtMs;
  }

  get bytesRead(): number {
    return this.#sockets.at(-1)?.bytesRead ?? 0;
  }

  /** undici then makes an error of its own, whose stack nobody reads: without it, a poll takes 6 % less CPU. */
  closeAfterAnswer(): void {
    this.#sockets.at(-1)?.destroy(ANSWER_READ);
    Error.stackTraceLimit = 0;
    void NOW.then(() => (Error.stackTraceLimit = STACK_FRAMES));
  }

  /** Aborts the connection; resolves when every socket has really closed. */
  async destroy(): Promise<void> {
    this.#isReported = true;
    this.#abort();
    if (this.#openSockets === 0) return;
    const closed = (this.#closed ??= Promise.withResolvers<void>());
    const guard = setTimeout(closed.resolve, CLOSE_GUARD_MS);
    await closed.promise;
    clearTimeout(guard);
  }

  #connect(): void {
    const { host, port } = this.#route.proxy ?? this.#route;
    const { refusal } = this.#route;
    this.#timer.enter(isIP(host) === 0 ? "dns" : "connect");
    this.#watch(this.#tcp);
    this.#tcp.setNoDelay(true);
    if (this.#route.isLong) this.#tcp.setKeepAlive(true, ALIVE_AFTER_MS);
    if (refusal !== undefined) {
      this.#tcp.destroy(new WireError("connect", refusal));
      return;
    }
    this.#tcp.once("connect", () => this.#connected(this.#tcp));
    this.#tcp.connect({
      host,
      port,
      lookup: this.#lookup,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: this.#route.familyAttemptMs,
    });
  }

  /** The socket's own "lookup" event is emitted for errors too. */
  readonly #lookup: LookupFunction = (hostname, _options, callback) =>
    callbackify(() => this.#addressesOf(hostname))(callback);

  /** Those that may be reached. */
  async #addressesOf(hostname: string): Promise<LookupAddress[]> {
    const { names, addresses, lookupTimeoutMs } = this.#route;
    const late = Promise.withResolvers<never>();
    const detail = `cannot resolve the name of ${hostname}: no answer within ${lookupTimeoutMs} ms`;
    const timer = setTimeout(() => late.reject(new WireError("dns", detail)), lookupTimeoutMs).unref();
    const found = await Promise.race([names.addressesOf(hostname), late.promise]).finally(() =>
      clearTimeout(timer),
    );
    this.#timer.enter("connect");
    const allowed = found.filter(({ address }) => addresses(hostname, address) === undefined);
    if (allowed.length > 0) return allowed;
    throw new WireError("connect", addresses(hostname, found[0]?.address ?? "") ?? "");
  }

  #connected(socket: Socket): void {
    this.#isConnected = true;
    if (this.#isReported) return;
    const { proxy, material } = this.#route;
    if (proxy === undefined || !proxy.secure || material === undefined) return this.#reachedPeer(socket);
    const name = isIP(proxy.host) === 0 ? { servername: proxy.host } : {};
    const options: ConnectionOptions = {
      socket,
      host: proxy.host,
      secureContext: material.contexts().proxy,
      // NODE_TLS_REJECT_UNAUTHORIZED=0 would switch it off.
      rejectUnauthorized: true,
      ...name,
    };
    const secured = connectTls(options, () => this.#reachedPeer(secured));
    this.#watch(secured);
  }

  #reachedPeer(socket: Socket): void {
    const { proxy, host, port, tls } = this.#route;
    if (proxy === undefined || tls === undefined) return this.#secure(socket);
    const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
    openTunnel(socket, authority, proxy, (error) => {
      if (error === undefined) this.#secure(socket);
      else this.#report(error, socket);
    });
  }

  #secure(socket: Socket): void {
    if (this.#isReported) return;
    const { tls, material } = this.#route;
    if (tls === undefined || material === undefined) return this.#report(undefined, socket);
    this.#timer.enter("tls");
    const options: ConnectionOptions = {
      socket,
      host: tls.name,
      secureContext: material.contexts().upstream,
      ALPNProtocols: ["http/1.1"],
      checkServerIdentity: () => certificate.identityFault(tls.name),
      // Nothing is trusted by this: Node.js checks the certificate all the same, and #verify ends the connection before
      // the first byte of the request, unless `insecure_skip_verify` is set. If Node.js itself ended it, the certificate
      // could no longer be read, and an expired one must show its date.
      rejectUnauthorized: false,
      ...(isIP(tls.name) === 0 ? { servername: tls.name } : {}),
    };
    const secured = connectTls(options, () => {
      this.#certificateExpiresAtMs = certificate.chainExpiresAtMs;
      this.#verify(secured, tls.name, tls.verify);
    });
    const certificate = new PeerCertificate(secured);
    this.#watch(secured);
  }

  #verify(socket: TLSSocket, name: string, isRequired: boolean): void {
    if (socket.authorized || !isRequired) return this.#report(undefined, socket);
    const reason = String(socket.authorizationError);
    this.#report(new WireError("tls", `the certificate of ${name} was rejected: ${reason}`), socket);
  }

  #watch(socket: Socket): void {
    this.#sockets.push(socket);
    this.#openSockets += 1;
    socket.on("error", (error) => {
      if (isConnectionLost(error)) this.#isReset = true;
      if (isTlsError(error)) this.#tlsError ??= error;
      this.#report(error, socket);
    });
    socket.once("close", () => {
      if (!this.#isReported) this.#report(SOCKET_CLOSED, socket);
      this.#openSockets -= 1;
      if (this.#openSockets > 0) return;
      this.#closed?.resolve();
      this.#gone(this);
    });
  }

  /** Once. A socket that was reported as ready belongs to undici from then on. */
  #report(error: Error | undefined, socket: Socket): void {
    if (this.#isReported) return;
    this.#isReported = true;
    if (error !== undefined) this.#abort();
    this.#ready(error, socket);
  }

  #abort(): void {
    if (!this.#isConnected) this.#route.names.forget((this.#route.proxy ?? this.#route).host);
    if (!this.#sockets.some((socket) => socket.writableEnded)) this.#tcp.resetWhenDestroyed();
    for (const socket of this.#sockets.toReversed()) socket.destroy();
  }
}

/**
 * A socket that can be told to end with a reset. After a plain close the kernel goes on sending what it still holds,
 * for minutes where packets are lost, and a request that was given up would be counted long after.
 *
 * It is told beforehand, because the TLS on top of it must be the one to close it: resetting a socket under live TLS
 * crashes Node.js 24.
 */
class ResettableSocket extends Socket {
  #resets = false;

  constructor() {
    // What a request that waits for memory leaves in the socket is kept until this and one read more.
    const options: SocketConstructorOpts & DuplexOptions = { highWaterMark: READ_AHEAD_BYTES };
    super(options);
  }

  resetWhenDestroyed(): void {
    this.#resets = true;
  }

  /** There is nothing to reset while it connects, and the system refuses to reset after our own end was sent. */
  override destroy(error?: Error): this {
    const resets = this.#resets && !this.destroyed && !this.connecting && !this.writableEnded;
    this.#resets = false;
    return resets ? this.resetAndDestroy() : super.destroy(error);
  }
}
