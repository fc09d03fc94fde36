import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * After so long the event loop gets a turn: polls, probes and other clients come in between. A rest is a timer, which is
 * late by up to a millisecond; without one, shorter turns cost nothing, and a poll waits for less in each of its steps.
 * Where others take long, so does a turn: a tenth of theirs for each second since the answer was begun. So a busy process
 * answers late, but before its readers give up.
 */
const TURN_MS = 1;
const TURN_BEFORE_REST_MS = 5;
const PART_OF_OTHERS_PER_MS = 0.1 / 1_000;
const LONGEST_TURN_MS = 500;
/** A turn in which the process stood still, as on SIGSTOP, seems long, as the clock went on: no rest may be as long. */
const LONGEST_REST_MS = 10 * TURN_BEFORE_REST_MS;

export type TurnsOptions = {
  /** Whether it rests after each turn, for as long as that took. */
  readonly rests: boolean;
  /** Asked between turns: work that nobody wants any more is given up. */
  readonly isWanted: () => boolean;
};

/** Thrown within an answer that nobody waits for any more. */
export class Unwanted extends Error {}

/** The work for one answer, in short turns. */
export class Turns {
  readonly #options: TurnsOptions;
  readonly #startedMs = performance.now();
  #beganMs = this.#startedMs;
  #turnMs: number;

  constructor(options: TurnsOptions) {
    this.#options = options;
    this.#turnMs = options.rests ? TURN_BEFORE_REST_MS : TURN_MS;
  }

  /** Only if this turn has taken long enough: waiting, even for nothing, costs more than most pieces. */
  pauseIfLong(): Promise<void> | undefined {
    return performance.now() - this.#beganMs < this.#turnMs ? undefined : this.pause();
  }

  async pause(): Promise<void> {
    await this.rest();
    this.endUnlessWanted();
  }

  endUnlessWanted(): void {
    if (!this.#options.isWanted()) throw new Unwanted("nobody waits for this answer");
  }

  async rest(): Promise<void> {
    const endedMs = performance.now();
    if (this.#options.rests) await sleep(Math.min(endedMs - this.#beganMs, LONGEST_REST_MS));
    else {
      await nextTurn();
      const nowMs = performance.now();
      const part = Math.min(1, (nowMs - this.#startedMs) * PART_OF_OTHERS_PER_MS);
      this.#turnMs = Math.min(LONGEST_TURN_MS, Math.max(TURN_MS, (nowMs - endedMs) * part));
    }
    this.#beganMs = performance.now();
  }
}

/** The process does not live on for it. */
function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}
