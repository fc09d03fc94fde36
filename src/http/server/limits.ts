import type { IncomingMessage, ServerOptions, ServerResponse } from "node:http";
import { whenOver } from "../guards/guard.ts";

/** What one client, or many, can take of us. */
export type ServerLimits = {
  readonly maxConnections: number;
  readonly maxScrapes: number;
  /** Requests of one connection that wait for their answers. */
  readonly maxPipelined: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** Longer than the usual scrape interval, so that Prometheus keeps its connection. */
  readonly keepAliveTimeoutMs: number;
  /** From the request's head to the answer's last byte, whether the client reads slowly or not at all. */
  readonly responseTimeoutMs: number;
  /** How long requests in flight may go on after closing has begun. */
  readonly closeGraceMs: number;
};

export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  maxConnections: 256,
  maxScrapes: 40,
  maxPipelined: 16,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  keepAliveTimeoutMs: 75_000,
  responseTimeoutMs: 30_000,
  closeGraceMs: 1000,
};

const MAX_HEADER_BYTES = 16 * 1024;

export function serverOptions(limits: ServerLimits): ServerOptions {
  return {
    insecureHTTPParser: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    // Node looks for overdue requests only this often, and every half minute by itself.
    connectionsCheckingInterval: Math.min(1000, limits.headersTimeoutMs),
  };
}

export function limitResponse(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  limits: ServerLimits,
): void {
  const { socket } = incoming;
  const timer = setTimeout(() => socket.destroy(), limits.responseTimeoutMs).unref();
  whenOver({ incoming, outgoing }, () => clearTimeout(timer));
}
