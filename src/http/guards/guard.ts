import type { HttpBindings } from "@hono/node-server";
import type { MiddlewareHandler } from "hono";

/** Behind a socket a request brings node's own objects; in a test without one, nothing at all. */
export type DoorEnv = { Bindings: Partial<HttpBindings> };

/** What a request passes before it reaches a route: it calls `next`, or answers itself. */
export type Guard = MiddlewareHandler<DoorEnv>;

/** Exempt from basic auth and from the host check: an orchestrator's probe has no password and asks by address. */
export const PROBE_PATHS: ReadonlySet<string> = new Set(["/-/healthy", "/-/ready"]);

/**
 * Calls back once, when the last byte of the answer is handed over or its connection is gone, whichever is first.
 * Either may have happened already: a client can hang up while its password is checked, and `close` comes only
 * once. Without a socket there is nothing to wait for.
 */
export function whenOver(exchange: Partial<HttpBindings> | undefined, callback: () => void): void {
  const { incoming, outgoing } = exchange ?? {};
  if (outgoing === undefined || outgoing.closed || incoming?.socket.destroyed === true) callback();
  else outgoing.once("close", callback);
}
