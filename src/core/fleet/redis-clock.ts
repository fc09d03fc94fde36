/**
 * Whether the keeper's wall clock was set forward: then leases there end too early. Seen from our own clock, between
 * which two moments the keeper looked at its own is known, so a step that is longer than the doubt shows.
 */

import { CLOCK_STEP_MS } from "./shared-terms.ts";

/** Clocks may run at rates that differ by this much: a lease is held for as much longer. */
const RATE_DIFFERENCE = 0.001;

export class RedisClock {
  #run: string | undefined;
  /** How far it is ahead of ours, at the most. */
  #aheadMs = 0;
  #atMs = 0;

  hasStepped(keeperNowMs: number, run: string, askedMs: number, answeredMs: number): boolean {
    const mostAheadMs = keeperNowMs - askedMs;
    const leastAheadMs = keeperNowMs - answeredMs;
    const expectedMs = this.#aheadMs + RATE_DIFFERENCE * (answeredMs - this.#atMs);
    const isStep = run === this.#run && leastAheadMs > expectedMs + CLOCK_STEP_MS;
    this.#aheadMs = run === this.#run && !isStep ? Math.min(mostAheadMs, expectedMs) : mostAheadMs;
    this.#atMs = answeredMs;
    this.#run = run;
    return isStep;
  }
}
