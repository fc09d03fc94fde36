import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { whenOver } from "../guards/guard.ts";
import type { ServerLimits } from "./limits.ts";

type Connection = { readonly socket: Socket; unanswered: number };

/** Knows what is open, so that it can be bounded, and so that closing ends: node closes only what it counts as idle. */
export class Connections {
  readonly #server: Server;
  readonly #limits: Pick<ServerLimits, "maxConnections" | "maxPipelined">;
  /** The oldest first. */
  readonly #open = new Map<string, Connection>();
  readonly #quiet = new AbortController();
  #exchanges = 0;
  #closing: Promise<void> | undefined;

  constructor(server: Server, limits: Pick<ServerLimits, "maxConnections" | "maxPipelined">) {
    this.#server = server;
    this.#limits = limits;
    server.on("connection", (socket) => this.#accept(socket));
  }

  /**
   * False for a request that nobody is to answer. Node reads all that a chunk holds at once, so whoever sends a
   * thousand small requests without waiting has a thousand answers made in one go, while polls and other clients wait.
   * A connection with more than a few of them unanswered is cut off: no client that we know of sends even two.
   */
  admit(incoming: IncomingMessage, outgoing: ServerResponse): boolean {
    const connection = this.#open.get(nameOf(incoming.socket));
    if (connection === undefined || connection.socket.destroyed) return false;
    if (connection.unanswered >= this.#limits.maxPipelined) {
      connection.socket.destroy();
      return false;
    }
    connection.unanswered += 1;
    this.#exchanges += 1;
    whenOver({ incoming, outgoing }, () => {
      connection.unanswered -= 1;
      this.#exchanges -= 1;
      if (this.#exchanges === 0 && this.#closing !== undefined) this.#quiet.abort();
    });
    return true;
  }

  /** Accepts nobody from now on; requests in flight may end within the grace. */
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
   * Whoever has been there longest without being owed an answer goes, and comes again if it meant well: so those who
   * only hold places, silent or dripping, keep nobody out.
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
    if (this.#exchanges > 0) await graceOf(graceMs, this.#quiet.signal);
    for (const { socket } of this.#open.values()) socket.destroy();
    await closed;
  }
}

/** A TLS socket and the one that it lies upon have the same other end, and at one time nobody else has. */
function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

async function graceOf(graceMs: number, quiet: AbortSignal): Promise<void> {
  try {
    await sleep(graceMs, undefined, { signal: quiet });
  } catch {
    // Nothing is in flight any more.
  }
}
