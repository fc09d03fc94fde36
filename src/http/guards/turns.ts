import { type Guard, PROBE_PATHS } from "./guard.ts";

const MOST_WAITING = 100;

/**
 * Every answer is made in one go, and Node would make all that many connections ask for in one turn of the loop: the
 * polls wait until the last is done. Here each turn makes one answer, and what is due comes in between. Whether the
 * process lives is told at once.
 */
export function oneAnswerATurn(mostWaiting: number = MOST_WAITING): Guard {
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();
  return async (c, next) => {
    if (PROBE_PATHS.has(c.req.path)) return next();
    if (waiting >= mostWaiting) {
      c.header("Retry-After", "1");
      return c.text(`cannot answer: ${mostWaiting} requests are waiting for theirs\n`, 503);
    }
    waiting += 1;
    last = last.then(nextTurn);
    await last;
    waiting -= 1;
    // Nobody is there any more to make it for.
    if (c.env?.incoming?.socket.destroyed === true) return c.body(null, 503);
    return next();
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
