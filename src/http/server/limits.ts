import type { IncomingMessage, ServerOptions, ServerResponse } from "node:http";
import type { Clock } from "../../kernel/time/clock.ts";
import { cutOff, whenResponseEnds } from "../guards/guard.ts";
import { DEFAULT_ROUTE_LIMITS, type RouteLimits } from "../routes/routes.ts";

const OF_CONNECTIONS = {
  maxConnections: 256,
  /** Unanswered requests on one connection. */
  maxPipelined: 16,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  /** Longer than the usual scrape interval, so that Prometheus keeps its connection. */
  keepAliveTimeoutMs: 75_000,
  /** From the first byte of the answer to the last, however slowly the client reads. */
  responseTimeoutMs: 30_000,
  /** How long a shutdown waits for requests in flight. */
  closeGraceMs: 1000,
};

/** One client, or many together, may use so much. */
export type ServerLimits = RouteLimits & Readonly<typeof OF_CONNECTIONS>;

export const DEFAULT_SERVER_LIMITS: ServerLimits = { ...DEFAULT_ROUTE_LIMITS, ...OF_CONNECTIONS };

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
