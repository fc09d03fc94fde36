import { setImmediate as nextTurn } from "node:timers/promises";

export type TextStream = ReadableStream<Uint8Array<ArrayBuffer>>;

/** After so long the event loop gets a turn. If the loop is slow, a turn of this text may be longer too. */
const SHORTEST_TURN_MS = 1;
const LONGEST_TURN_MS = 10;
const UTF8 = new TextEncoder();

/**
 * A text that is written while it is read: no more of it exists than its reader takes, and other work runs in between.
 * `last` follows the pieces.
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
        // Its reader sees only that it ended early, not why.
        onBug(error);
        throw error;
      }
    },
  });
}
