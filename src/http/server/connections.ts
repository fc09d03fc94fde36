import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../kernel/time/clock.ts";
import { cutOff, whenResponseEnds } from "../guards/guard.ts";
import type { ServerLimits } from "./limits.ts";

type Connection = {
  readonly socket: Socket;
  /** Its requests come from this one: with TLS, another one on top of it. */
  client: Socket;
  unanswered: number;
  /** Requests that wait for the answer before theirs. */
  readonly waiting: (() => void)[];
};

type ConnectionLimits = Pick<ServerLimits, "maxPipelined"> & {
  /** Read for each connection. */
  readonly maxConnections: () => number;
  /** Whether it waits for its password to be checked: that goes on without it, and is then known. */
  readonly isChecking: (client: Socket) => boolean;
};

/** Limits the number of open connections, and closes all of them at shutdown. Node alone closes only idle ones. */
export class Connections {
  readonly #server: Server;
  readonly #limits: ConnectionLimits;
  readonly #clock: Pick<Clock, "sleep">;
  /** The oldest first. */
  readonly #open = new Map<string, Connection>();
  readonly #drained = new AbortController();
  #requestsInFlight = 0;
  #closing: Promise<void> | undefined;

  constructor(server: Server, limits: ConnectionLimits, clock: Pick<Clock, "sleep">) {
    this.#server = server;
    this.#limits = limits;
    this.#clock = clock;
    server.on("connection", (socket) => this.#accept(socket));
  }

  /**
   * Node parses every request in a chunk at once, so a client that sends a thousand small requests without waiting would
   * get a thousand answers in one turn, while polls and other clients wait. Here `answer` is called when the answer
   * before it is sent. A connection with too many unanswered requests is closed. No known client sends even two.
   */
  admit(incoming: IncomingMessage, outgoing: ServerResponse, answer: () => void): void {
    const connection = this.#open.get(nameOf(incoming.socket));
    if (connection === undefined || connection.socket.destroyed) return;
    if (connection.unanswered >= this.#limits.maxPipelined) {
      cutOff(connection.socket);
      return;
    }
    connection.client = incoming.socket;
    connection.unanswered += 1;
    this.#requestsInFlight += 1;
    const begin = (): void => {
      whenResponseEnds({ incoming, outgoing }, () => {
        this.#answered(connection, 1);
        // Not after the last answer: what a client hides behind a refused request is no request.
        if (incoming.socket.writable) connection.waiting.shift()?.();
      });
      answer();
    };
    if (connection.unanswered === 1) begin();
    else connection.waiting.push(begin);
  }

  /** Accepts no more connections. Requests in flight may end within the grace period. */
  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  /** Requests that will never be answered, because the client has gone, count as answered. */
  #answered(connection: Connection, requests: number): void {
    connection.unanswered -= requests;
    this.#requestsInFlight -= requests;
    if (this.#requestsInFlight === 0 && this.#closing !== undefined) this.#drained.abort();
  }

  #accept(socket: Socket): void {
    const name = nameOf(socket);
    const connection: Connection = { socket, client: socket, unanswered: 0, waiting: [] };
    this.#open.set(name, connection);
    socket.once("close", () => {
      this.#answered(connection, connection.waiting.splice(0).length);
      if (this.#open.get(name)?.socket === socket) this.#open.delete(name);
    });
    if (this.#open.size > this.#limits.maxConnections()) this.#makeRoom();
  }

  /**
   * Closes the oldest connection whose password is not checked yet, or else that is not waiting for an answer: an honest
   * client simply connects again. So clients that only hold connections open, silent, slow or guessing, keep nobody out.
   */
  #makeRoom(): void {
    const open = [...this.#open];
    const [name, connection] =
      open.find(([, { client }]) => this.#limits.isChecking(client)) ??
      open.find(([, { unanswered }]) => unanswered === 0) ??
      [];
    if (name === undefined || connection === undefined) return;
    this.#open.delete(name);
    cutOff(connection.socket);
  }

  async #close(graceMs: number): Promise<void> {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#server.closeIdleConnections();
    if (this.#requestsInFlight > 0) await this.#clock.sleep(graceMs, this.#drained.signal);
    for (const { socket } of this.#open.values()) socket.destroy();
    await closed;
  }
}

/** A TLS socket and the TCP socket below it share the remote address and port, and no other connection has them. */
function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
