/** What the upstream's own words hold a budget back by: pauses, backing off, lowered limits, yielding. */

import type { Advice } from "./advice.ts";
import type { Budget, Rate } from "./config.ts";

const LONGEST_QUOTA_WINDOW_MS = 24 * 3_600_000;

/** A limit that was said, and until when it stands. */
type Lowered = { readonly requests: number; readonly untilMs: number };

/** More different limits than this at once are merged, to the safe side. */
const MOST_STANDING = 8;

export class Restraint {
  #budget: Budget;
  #pausedUntilMs = 0;
  #hintlessRefusals = 0;
  /** By window; of what stands, the strictest comes first and ends first. */
  #lowered = new Map<number, readonly Lowered[]>();
  #yieldUntilMs = 0;
  #advertised: { readonly limit: number | undefined; readonly remaining: number | undefined } = {
    limit: undefined,
    remaining: undefined,
  };

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  change(budget: Budget): void {
    this.#budget = budget;
    const windows = new Set(budget.rates.map((rate) => rate.perMs));
    for (const perMs of this.#lowered.keys()) if (!windows.has(perMs)) this.#lowered.delete(perMs);
  }

  /** Monotonic; in the past where there is no pause. */
  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  /** What the upstream said last, as it said it. */
  get advertised(): { readonly limit: number | undefined; readonly remaining: number | undefined } {
    return this.#advertised;
  }

  isYielding(nowMs: number): boolean {
    return nowMs < this.#yieldUntilMs;
  }

  /** The cap of one rate now: lowered where the upstream advertised less than the config knows. */
  capOf(rate: Rate, configuredCap: number, nowMs: number): number {
    const strictest = this.#lowered.get(rate.perMs)?.find((lowered) => nowMs < lowered.untilMs);
    if (strictest === undefined) return configuredCap;
    return Math.min(configuredCap, Math.max(1, Math.floor(strictest.requests * this.#budget.share + 1e-9)));
  }

  heed(advice: Advice, nowMs: number): void {
    this.#heedPause(advice, nowMs);
    for (const limit of advice.limits) this.#heedLimit(limit.requests, limit.perMs, nowMs);
    this.#heedRemaining(advice, nowMs);
  }

  #heedPause(advice: Advice, nowMs: number): void {
    const pauseMs = advice.pause?.scope === "budget" ? advice.pause.forMs : 0;
    if (pauseMs > 0) this.#pause(pauseMs, nowMs);
    // What arrives during a pause belongs to the burst that caused it: it neither doubles it nor ends the count.
    if (nowMs < this.#pausedUntilMs) return;
    if (!advice.throttled) {
      this.#hintlessRefusals = 0;
    } else if (pauseMs <= 0) {
      this.#pause(this.#longestWindowMs() * 2 ** this.#hintlessRefusals, nowMs);
      this.#hintlessRefusals = Math.min(this.#hintlessRefusals + 1, 30);
    }
  }

  #pause(forMs: number, nowMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + Math.min(forMs, this.#budget.maxPauseMs));
  }

  #heedLimit(requests: number, perMs: number | undefined, nowMs: number): void {
    if (perMs !== undefined && perMs >= LONGEST_QUOTA_WINDOW_MS) return;
    const rate = this.#rateMeantBy(requests, perMs);
    if (rate === undefined) return;
    const inItsWindow = perMs === undefined ? requests : Math.floor((requests * rate.perMs) / perMs);
    if (inItsWindow >= rate.requests) return;
    const untilMs = nowMs + rate.perMs;
    const stricter = (this.#lowered.get(rate.perMs) ?? []).filter(
      (stands) => nowMs < stands.untilMs && stands.requests < inItsWindow,
    );
    const kept = stricter.slice(0, MOST_STANDING - 1);
    const mergedRequests = stricter[MOST_STANDING - 1]?.requests ?? inItsWindow;
    this.#lowered.set(rate.perMs, [...kept, { requests: mergedRequests, untilMs }]);
  }

  /** The rate of the same window; of the nearest one; where no window was said, of the nearest number. */
  #rateMeantBy(requests: number, perMs: number | undefined): Rate | undefined {
    const distance = (rate: Rate): number =>
      perMs === undefined
        ? Math.abs(Math.log(rate.requests / requests))
        : Math.abs(Math.log(rate.perMs / perMs));
    return this.#budget.rates.toSorted((a, b) => distance(a) - distance(b))[0];
  }

  #heedRemaining(advice: Advice, nowMs: number): void {
    const saidLimits = advice.limits.map((limit) => limit.requests);
    const remaining = advice.remaining;
    if (saidLimits.length > 0 || remaining !== undefined) {
      this.#advertised = {
        limit: remaining?.limit ?? (saidLimits.length > 0 ? Math.min(...saidLimits) : undefined),
        remaining: remaining?.requests,
      };
    }
    if (remaining === undefined) return;
    const ofLimit = remaining.limit ?? Math.min(...this.#budget.rates.map((rate) => rate.requests));
    const untilMs = nowMs + Math.min(remaining.resetMs ?? this.#longestWindowMs(), this.#budget.maxPauseMs);
    this.#yieldUntilMs = remaining.requests < this.#budget.yieldBelow * ofLimit ? untilMs : 0;
  }

  #longestWindowMs(): number {
    return Math.max(...this.#budget.rates.map((rate) => rate.perMs));
  }
}
