import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { whenResponseEnds } from "../guards/guard.ts";
import type { ServerLimits } from "./limits.ts";

type Connection = { readonly socket: Socket; unanswered: number };

/** Limits the number of open connections, and closes all of them at shutdown. Node alone closes only idle ones. */
export class Connections {
  readonly #server: Server;
  readonly #limits: Pick<ServerLimits, "maxConnections" | "maxPipelined">;
  /** The oldest first. */
  readonly #open = new Map<string, Connection>();
  readonly #drained = new AbortController();
  #requestsInFlight = 0;
  #closing: Promise<void> | undefined;

  constructor(server: Server, limits: Pick<ServerLimits, "maxConnections" | "maxPipelined">) {
    this.#server = server;
    this.#limits = limits;
    server.on("connection", (socket) => this.#accept(socket));
  }

  /**
   * False for a request that must not be answered. Node parses every request in a chunk at once, so a client that sends
   * a thousand small requests without waiting would get a thousand answers in one turn, while polls and other clients
   * wait. A connection with too many unanswered requests is closed. No known client sends even two.
   */
  admit(incoming: IncomingMessage, outgoing: ServerResponse): boolean {
    const connection = this.#open.get(nameOf(incoming.socket));
    if (connection === undefined || connection.socket.destroyed) return false;
    if (connection.unanswered >= this.#limits.maxPipelined) {
      connection.socket.destroy();
      return false;
    }
    connection.unanswered += 1;
    this.#requestsInFlight += 1;
    whenResponseEnds({ incoming, outgoing }, () => {
      connection.unanswered -= 1;
      this.#requestsInFlight -= 1;
      if (this.#requestsInFlight === 0 && this.#closing !== undefined) this.#drained.abort();
    });
    return true;
  }

  /** Accepts no more connections. Requests in flight may end within the grace period. */
  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  #accept(socket: Socket): void {
    const name = nameOf(socket);
    this.#open.set(name, { socket, unanswered: 0 });
    socket.once("close", () => {
      if (this.#open.get(name)?.socket === socket) this.#open.delete(name);
    });
    if (this.#open.size > this.#limits.maxConnections) this.#makeRoom();
  }

  /**
   * Closes the oldest connection that is not waiting for an answer: an honest client simply connects again. So clients
   * that only hold connections open, silent or slow, keep nobody out.
   */
  #makeRoom(): void {
    for (const [name, { socket, unanswered }] of this.#open) {
      if (unanswered > 0) continue;
      this.#open.delete(name);
      socket.destroy();
      return;
    }
  }

  async #close(graceMs: number): Promise<void> {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#server.closeIdleConnections();
    if (this.#requestsInFlight > 0) await sleepUnless(this.#drained.signal, graceMs);
    for (const { socket } of this.#open.values()) socket.destroy();
    await closed;
  }
}

/** A TLS socket and the TCP socket below it share the remote address and port, and no other connection has them. */
function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

async function sleepUnless(signal: AbortSignal, ms: number): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch {
    // Aborted: the last request in flight has ended.
  }
}
