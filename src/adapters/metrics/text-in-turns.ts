import { setImmediate as nextTurn } from "node:timers/promises";

export type TextStream = ReadableStream<Uint8Array<ArrayBuffer>>;

/** What is written for longer than this in one go lets others have the loop; where they take long, it may, too. */
const SHORTEST_TURN_MS = 1;
const LONGEST_TURN_MS = 10;
const UTF8 = new TextEncoder();

/**
 * A text that is made while it is read: no more of it exists than its reader takes, and what is due comes in between.
 * `last` comes behind the pieces, once they are all told.
 */
export function textInTurns(
  pieces: Iterator<string>,
  last: () => Promise<string>,
  onBug: (error: unknown) => void,
): TextStream {
  return new ReadableStream({
    async pull(controller) {
      const askedMs = performance.now();
      await nextTurn();
      const beganMs = performance.now();
      const turnMs = Math.min(LONGEST_TURN_MS, Math.max(SHORTEST_TURN_MS, beganMs - askedMs));
      try {
        do {
          const { done, value } = pieces.next();
          if (done === true) {
            controller.enqueue(UTF8.encode(await last()));
            controller.close();
            return;
          }
          controller.enqueue(UTF8.encode(value));
        } while (performance.now() - beganMs < turnMs);
      } catch (error) {
        // Whoever reads it sees it end too early, and nobody else would ever know why.
        onBug(error);
        throw error;
      }
    },
  });
}
