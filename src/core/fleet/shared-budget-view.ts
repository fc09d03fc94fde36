import { CLOCK_STEP_MS, type SharedState } from "./ledger-store.ts";

/** What Redis last said about a shared budget, by our own clock. */
export type SharedBudgetView = {
  readonly isReachable: boolean;
  /** Kept while Redis is unreachable. */
  readonly state: SharedState | undefined;
  readonly pausedUntilMs: number;
  readonly yieldUntilMs: number;
  readonly coldUntilMs: number;
  readonly updatedMs: number;
};

export const NOTHING_KNOWN: SharedBudgetView = {
  isReachable: true,
  state: undefined,
  pausedUntilMs: Number.NEGATIVE_INFINITY,
  yieldUntilMs: Number.NEGATIVE_INFINITY,
  coldUntilMs: Number.NEGATIVE_INFINITY,
  updatedMs: Number.NEGATIVE_INFINITY,
};

/** A pause beyond `maxPauseMs` is nobody's, and would have to be ended by hand. */
export function updated(
  before: SharedBudgetView,
  state: SharedState,
  nowMs: number,
  maxPauseMs: number,
): SharedBudgetView {
  return {
    isReachable: true,
    state,
    // If Redis lost its data it has forgotten the pause; we have not.
    pausedUntilMs: Math.max(before.pausedUntilMs, nowMs + Math.min(state.pausedMs, maxPauseMs)),
    yieldUntilMs: nowMs + Math.min(state.yieldMs, maxPauseMs),
    coldUntilMs: nowMs + state.coldMs,
    updatedMs: nowMs,
  };
}

/** Whether a wait may have become shorter than announced. */
export function mayWaitLess(before: SharedBudgetView, state: SharedState): boolean {
  const isSame = before.state?.freed === state.freed && before.state.epoch === state.epoch;
  return !before.isReachable || !isSame;
}

/** Clocks may run at rates that differ by this much. */
const RATE_DIFFERENCE = 0.001;

/**
 * Whether the Redis clock was set forward, which ends leases too early. Redis read its clock between our question and
 * its answer, so how far it is ahead of our own clock is known up to that time: a longer step shows.
 */
export class RedisClock {
  #run: string | undefined;
  #mostAheadMs = 0;
  #atMs = 0;

  hasStepped({ nowMs, epoch }: SharedState, askedMs: number, answeredMs: number): boolean {
    const [run = ""] = epoch.split("-");
    const [mostAheadMs, leastAheadMs] = [nowMs - askedMs, nowMs - answeredMs];
    const expectedMs = this.#mostAheadMs + RATE_DIFFERENCE * (answeredMs - this.#atMs);
    const isStep = run === this.#run && leastAheadMs > expectedMs + CLOCK_STEP_MS;
    this.#mostAheadMs = run === this.#run && !isStep ? Math.min(mostAheadMs, expectedMs) : mostAheadMs;
    this.#atMs = answeredMs;
    this.#run = run;
    return isStep;
  }
}
