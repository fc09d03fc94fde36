import { type Guard, PROBE_PATHS } from "./guard.ts";

const MAX_WAITING = 100;

/**
 * An answer is made synchronously. Node would make the answers of many connections in one turn of the event loop, and
 * polls would be late. Here each turn makes one answer, so timers and sockets run in between. Liveness probes do not
 * wait.
 */
export function oneAnswerPerTurn(maxWaiting: number = MAX_WAITING): Guard {
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();
  return async (c, next) => {
    if (PROBE_PATHS.has(c.req.path)) return next();
    if (waiting >= maxWaiting) {
      c.header("Retry-After", "1");
      return c.text(`cannot answer: ${maxWaiting} requests are already waiting\n`, 503);
    }
    waiting += 1;
    last = last.then(nextTurn);
    await last;
    waiting -= 1;
    // The client has gone: no answer is needed.
    if (c.env?.incoming?.socket.destroyed === true) return c.body(null, 503);
    return next();
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
