import { nextSlotMs, type Schedule } from "./schedule.ts";

/**
 * The next slot of many that share a schedule, asked for at moments that lie close together: each in one of two
 * neighbouring gaps, so the expression is worked through once a gap instead of once a question.
 */
export class NextSlots {
  readonly #schedule: Schedule;
  /** Asked from `fromMs` on the answer is `middleMs`; from there on `lastMs`, until that is over too. */
  #fromMs = Infinity;
  #middleMs = Infinity;
  #lastMs = -Infinity;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
  }

  /** The first slot strictly after this moment. */
  after(wallMs: number): number {
    if (wallMs < this.#fromMs || wallMs >= this.#lastMs) {
      this.#fromMs = wallMs;
      this.#middleMs = nextSlotMs(this.#schedule, wallMs);
      this.#lastMs = nextSlotMs(this.#schedule, this.#middleMs);
    }
    return wallMs < this.#middleMs ? this.#middleMs : this.#lastMs;
  }
}
