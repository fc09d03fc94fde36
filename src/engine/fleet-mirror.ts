import type { SharedStanding } from "../core/shared-terms.ts";

/** What the keeper of a budget said last, by our own clock. */
export class FleetMirror {
  #standing: SharedStanding | undefined;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  #yieldUntilMs = Number.NEGATIVE_INFINITY;
  #coldUntilMs = Number.NEGATIVE_INFINITY;
  #heardMs = Number.NEGATIVE_INFINITY;

  /** Whether a wait may have become shorter than it was said to be. */
  hear(standing: SharedStanding, nowMs: number): boolean {
    const before = this.#standing;
    this.#standing = standing;
    this.#heardMs = nowMs;
    // A keeper that was emptied has forgotten it; we have not.
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + standing.pausedMs);
    this.#yieldUntilMs = nowMs + standing.yieldMs;
    this.#coldUntilMs = nowMs + standing.coldMs;
    return before === undefined || before.freed !== standing.freed || before.epoch !== standing.epoch;
  }

  get standing(): SharedStanding | undefined {
    return this.#standing;
  }

  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  get heardMs(): number {
    return this.#heardMs;
  }

  isYielding(nowMs: number): boolean {
    return nowMs < this.#yieldUntilMs;
  }

  /** Until when it refuses, as it does not know everything. */
  get coldUntilMs(): number {
    return this.#coldUntilMs;
  }
}
