import { setImmediate as nextEventLoopTurn } from "node:timers/promises";

/** After so long, polls, probes and other clients come in between. */
const TURN_MS = 5;

/**
 * Hundreds of readers of a large answer take its parts as fast as they are sent: together they would keep the event loop
 * for seconds. So they take turns, one part each.
 */
export class SendingTurns {
  /** The longest waiting first. */
  readonly #waiting: (() => void)[] = [];
  #isWorking = false;

  /** Resolves when the next part may be taken and sent. */
  next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    if (!this.#isWorking) void this.#work();
    return promise;
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    while (this.#waiting.length > 0) {
      await nextEventLoopTurn();
      const beganMs = performance.now();
      do {
        this.#waiting.shift()?.();
        await promisesSettled();
      } while (this.#waiting.length > 0 && performance.now() - beganMs < TURN_MS);
    }
    this.#isWorking = false;
  }
}

/** By then, who may send has sent. */
function promisesSettled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
