import type { HttpBindings } from "@hono/node-server";

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
