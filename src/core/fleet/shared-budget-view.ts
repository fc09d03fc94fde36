import { CLOCK_STEP_MS, type SharedState } from "./shared-terms.ts";

/** What Redis last said about a shared budget, by our own clock. */
export class SharedBudgetView {
  readonly #redisClock = new RedisClock();
  #state: SharedState | undefined;
  #isReachable = true;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  #yieldUntilMs = Number.NEGATIVE_INFINITY;
  #coldUntilMs = Number.NEGATIVE_INFINITY;
  #updatedMs = Number.NEGATIVE_INFINITY;

  /**
   * `hasChanged`: a wait may have become shorter than announced. `hasStepped`: its clock was set forward, so that its
   * leases ended too early and a grant is worth nothing.
   */
  update(
    state: SharedState,
    askedMs: number,
    nowMs: number,
  ): { readonly hasChanged: boolean; readonly hasStepped: boolean } {
    const before = this.#isReachable ? this.#state : undefined;
    this.#isReachable = true;
    this.#state = state;
    this.#updatedMs = nowMs;
    // If Redis lost its data it has forgotten the pause; we have not.
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + state.pausedMs);
    this.#yieldUntilMs = nowMs + state.yieldMs;
    this.#coldUntilMs = nowMs + state.coldMs;
    const [run = ""] = state.epoch.split("-");
    return {
      hasChanged: before === undefined || before.freed !== state.freed || before.epoch !== state.epoch,
      hasStepped: this.#redisClock.hasStepped(state.nowMs, run, askedMs, nowMs),
    };
  }

  lose(): void {
    this.#isReachable = false;
  }

  get isReachable(): boolean {
    return this.#isReachable;
  }

  /** The last known state, also while Redis is unreachable. */
  get state(): SharedState | undefined {
    return this.#state;
  }

  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  get updatedMs(): number {
    return this.#updatedMs;
  }

  isYielding(nowMs: number): boolean {
    return nowMs < this.#yieldUntilMs;
  }

  /** Until then Redis refuses, because it does not know every earlier request. */
  get coldUntilMs(): number {
    return this.#coldUntilMs;
  }
}

/** Clocks may run at rates that differ by this much. */
const RATE_DIFFERENCE = 0.001;

/**
 * Whether the Redis clock was set forward. Redis read its clock between our question and its answer, so its lead over
 * our own clock is known up to that time: a longer step shows.
 */
class RedisClock {
  #run: string | undefined;
  #mostAheadMs = 0;
  #atMs = 0;

  hasStepped(redisNowMs: number, run: string, askedMs: number, answeredMs: number): boolean {
    const mostAheadMs = redisNowMs - askedMs;
    const leastAheadMs = redisNowMs - answeredMs;
    const expectedMs = this.#mostAheadMs + RATE_DIFFERENCE * (answeredMs - this.#atMs);
    const isStep = run === this.#run && leastAheadMs > expectedMs + CLOCK_STEP_MS;
    this.#mostAheadMs = run === this.#run && !isStep ? Math.min(mostAheadMs, expectedMs) : mostAheadMs;
    this.#atMs = answeredMs;
    this.#run = run;
    return isStep;
  }
}
