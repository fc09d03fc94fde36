import { setImmediate as nextTurn } from "node:timers/promises";

/** `onTurn` is called in each turn of the event loop while this work lasts. */
export async function eachTurnDuring<Result>(
  work: () => Promise<Result>,
  onTurn: () => void,
): Promise<Result> {
  const ended = new AbortController();
  const turning = (async () => {
    while (!ended.signal.aborted) {
      await nextTurn();
      onTurn();
    }
  })();
  try {
    return await work();
  } finally {
    ended.abort();
    await turning;
  }
}
