import type { IncomingMessage, ServerOptions, ServerResponse } from "node:http";
import type { Clock } from "../../kernel/time/clock.ts";
import { cutOff, whenResponseEnds } from "../guards/guard.ts";
import { DEFAULT_ROUTE_LIMITS, type RouteLimits } from "../routes/routes.ts";

/** One client, or many together, may use so much. */
export type ServerLimits = RouteLimits & {
  readonly maxConnections: number;
  /** Unanswered requests on one connection. */
  readonly maxPipelined: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** Longer than the usual scrape interval, so that Prometheus keeps its connection. */
  readonly keepAliveTimeoutMs: number;
  /** From the first byte of the answer to the last, however slowly the client reads. */
  readonly responseTimeoutMs: number;
  /** How long a shutdown waits for requests in flight. */
  readonly closeGraceMs: number;
};

export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  ...DEFAULT_ROUTE_LIMITS,
  maxConnections: 256,
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
    // How often Node looks for overdue requests. Its default is half a minute.
    connectionsCheckingInterval: Math.min(1000, limits.headersTimeoutMs),
  };
}

/** Cuts off whoever takes longer to read an answer that has begun. */
export function limitReading({ responseTimeoutMs }: ServerLimits, clock: Pick<Clock, "sleep">) {
  return (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const ended = new AbortController();
    whenResponseEnds({ incoming, outgoing }, () => ended.abort());
    void clock.sleep(responseTimeoutMs, ended.signal).then(() => {
      if (!ended.signal.aborted) cutOff(incoming.socket);
    });
  };
}
