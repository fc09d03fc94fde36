import type { Socket } from "node:net";
import { type buildConnector, Client } from "undici";
import { ConnectionAttempt, READ_AHEAD_BYTES } from "./connection-attempt.ts";
import { ANSWER_READ } from "./faults.ts";
import type { RequestInFlight } from "./request-in-flight.ts";
import type { WireRequest } from "./request.ts";
import type { Route } from "./route.ts";

/** A longer head is not read. */
export const HEAD_BYTES = 16_384;

/** How long an idle connection is kept unless the upstream says otherwise. The upstream may close it at any time. */
const IDLE_MAX_MS = 600_000;

/**
 * One undici Client, which owns at most one connection, and sends one request after the other, each at most once. undici
 * never repeats what it has begun to write. A kept connection that dies before that is replaced, by undici or here, and
 * only then: a second connection for one request is refused. Where connections are not kept, each request opens one.
 */
export class PollClient {
  readonly #origin: string;
  readonly #route: Route;
  readonly #keepsConnection: boolean;
  #client: Client;
  #connection: ConnectionAttempt | undefined;
  #request: RequestInFlight | undefined;
  /** The one that has no connection yet, or only a kept one. */
  #mayConnect: RequestInFlight | undefined;

  constructor(origin: string, route: Route, keep: boolean) {
    this.#origin = origin;
    this.#route = route;
    this.#keepsConnection = keep;
    this.#client = this.#openClient();
  }

  send(written: WireRequest, request: RequestInFlight): void {
    this.#request = request;
    this.#mayConnect = request;
    if (this.#keepsConnection && this.#connection !== undefined) {
      request.use(this.#connection, () => {
        // The kept connection was reset while undici checked that it is alive. Nothing was written, and nothing is left
        // of it to be destroyed.
        this.#client = this.#openClient();
        this.#client.dispatch(written, request);
      });
    }
    this.#client.dispatch(written, request);
  }

  /** Called after a complete answer: another request may follow. This one is forgotten, as its answer may be large. */
  finish(): void {
    this.#request = undefined;
    this.#mayConnect = undefined;
  }

  /** Whether it can send another request: not while a connection that is not kept still closes. */
  get isFree(): boolean {
    return this.#keepsConnection || this.#connection === undefined;
  }

  /** Closes the connection for good, after a complete answer. */
  release(): void {
    this.#client.destroy(ANSWER_READ, () => {});
  }

  /** Aborts what is open; resolves when it has closed. */
  async destroy(): Promise<void> {
    const closed = this.#connection?.destroy();
    this.#client.destroy(() => {});
    await closed;
  }

  #openClient(): Client {
    return new Client(this.#origin, {
      connect: (_options, callback) => this.#connect(callback),
      pipelining: 1,
      // undici repeats HTTP/2 streams that the server refused: requests without a lease.
      allowH2: false,
      useMilo: false,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: HEAD_BYTES,
      keepAliveTimeout: IDLE_MAX_MS,
      keepAliveMaxTimeout: IDLE_MAX_MS,
    });
  }

  #connect(callback: buildConnector.Callback): void {
    const request = this.#mayConnect;
    this.#mayConnect = undefined;
    if (request === undefined || request.hasEnded) {
      callback(new Error("one poll makes one connection"), null);
      return;
    }
    const ready = (error: Error | undefined, socket: Socket): void => {
      if (error !== undefined) return callback(error, null);
      this.#partReads(socket);
      callback(null, socket);
    };
    this.#connection = new ConnectionAttempt(this.#route, request.timer, ready, this.#gone);
    request.use(this.#connection);
  }

  /**
   * undici parses all that it reads at once: so it is given no more than the request allows. And a socket that is emptied
   * reads on, though what is not parsed yet is put back: it would take in all that is sent meanwhile.
   */
  #partReads(socket: Socket): void {
    const readFrom = socket.read.bind(socket);
    socket.read = (size?: number): Buffer | null => {
      const isMuch = size === undefined && socket.readableLength > READ_AHEAD_BYTES;
      const read: Buffer | null = readFrom(isMuch ? READ_AHEAD_BYTES : size);
      if (read === null || this.#request === undefined || this.#request.hasEnded) return read;
      const part = this.#request.partOf(read);
      if (part === undefined) return null;
      if (part.length < read.length) socket.unshift(read.subarray(part.length));
      return part;
    };
  }

  /** A kept one is remembered: the next request finds out that it is dead. */
  readonly #gone = (connection: ConnectionAttempt): void => {
    if (!this.#keepsConnection && this.#connection === connection) this.#connection = undefined;
  };
}
