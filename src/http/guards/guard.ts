import type { HttpBindings } from "@hono/node-server";
import type { MiddlewareHandler } from "hono";

/** Node's own request and response. Tests that call the routes without a socket have neither. */
export type HttpEnv = { Bindings: Partial<HttpBindings> };

/** A middleware in front of the routes: it calls `next`, or answers itself. */
export type Guard = MiddlewareHandler<HttpEnv>;

/** Exempt from basic auth, the host check and the answer queue: orchestrators probe by address, without a password. */
export const PROBE_PATHS: ReadonlySet<string> = new Set(["/-/healthy", "/-/ready"]);

/**
 * Calls back once, when the last byte of the answer is sent or the connection is closed. Either may have happened
 * already: a client can hang up while its password is checked, and `close` is emitted only once. Without a socket it
 * calls back at once.
 */
export function whenResponseEnds(request: Partial<HttpBindings> | undefined, callback: () => void): void {
  const { incoming, outgoing } = request ?? {};
  if (outgoing === undefined || outgoing.closed || incoming?.socket.destroyed === true) callback();
  else outgoing.once("close", callback);
}
