/**
 * The leases of one budget: why no window ever holds more than the cap.
 *
 *      take        the upstream counts it              settled           ended
 *       |------------------ * --------------------------|------- W -------|
 *       ^ before sending   somewhere in here            ^ its answer, or its socket's closing + linger
 *
 *      any window of length W that ends at x:
 *                   (x - W ------------------------- x]
 *      A request counted in it was taken before x, and is not ended at x: had it ended, it was settled more
 *      than W before x, and counted before that, outside of the window. So every request that is counted in the
 *      window still holds its lease at x, and leases never exceed the cap.
 *
 * No clock is compared with another: only this process's own monotonic durations count. W is held 0.1 % longer,
 * against clocks that run at different rates.
 */

import type { Settlement } from "./ledger.ts";

export const CLOCK_RATE_MARGIN = 1.001;

/** One window to keep: at most `cap` leases that are not ended. */
export type LeaseRate = { readonly perMs: number; readonly cap: number };

export type LeaseTerms = { readonly rates: readonly LeaseRate[]; readonly lingerMs: number };

export type TakeDecision =
  | { readonly kind: "granted" }
  /** A lower bound, unless a request turns out unsent. */
  | { readonly kind: "wait"; readonly untilMs: number };

/** The least time between two requests: fewer bursts, and what carries the promise over a crash. */
export function paceGapMs(rates: readonly LeaseRate[]): number {
  return Math.max(...rates.map((rate) => rate.perMs / rate.cap));
}

/**
 * Timers wake by the millisecond. What is paced finer may catch up over this much time, in one burst: so in any
 * stretch of a life, requests are no more than its length and this, divided by the gap.
 */
export const PACE_GRAIN_MS = 2;

/**
 * What nothing that was sent before now can outlive, with the same margin as a lease. `uncountedMs` is how long
 * after its sending a request may still be counted: timeout + linger.
 */
export function forgottenAfterMs(terms: LeaseTerms, uncountedMs: number): number {
  const longestWindowMs = Math.max(...terms.rates.map((rate) => rate.perMs));
  return (longestWindowMs + uncountedMs) * CLOCK_RATE_MARGIN;
}

/**
 * Whether requests that are only one pace gap apart, life after life, fit the limit. They do if what is sent in a
 * window, and before it within `uncountedMs`, fits with one to spare: a process that stands still keeps requests
 * open for longer, so that those from before and those from after meet in one window. Either may have caught up.
 */
export function gapsKeepTheLimit(rate: LeaseRate, limit: number, uncountedMs: number): boolean {
  const caughtUpMs = rate.perMs / rate.cap < PACE_GRAIN_MS ? 2 * PACE_GRAIN_MS : 0;
  return rate.cap * (rate.perMs * CLOCK_RATE_MARGIN + uncountedMs + caughtUpMs) <= (limit - 1) * rate.perMs;
}

/**
 * A fresh process knows nothing of its dead predecessor. Where gaps alone keep the limit, one gap is enough to wait;
 * else all that the other may have sent must be forgotten.
 */
export function coldStartMs(terms: LeaseTerms, limits: readonly number[], uncountedMs: number): number {
  const gapKeepsTheLimit = terms.rates.every((rate, index) =>
    gapsKeepTheLimit(rate, limits[index] ?? 0, uncountedMs),
  );
  if (!gapKeepsTheLimit) return forgottenAfterMs(terms, uncountedMs);
  const gapMs = paceGapMs(terms.rates);
  // Waiting as long as a burst may make up for, lives in a row are paced like one.
  return (gapMs < PACE_GRAIN_MS ? PACE_GRAIN_MS : gapMs) * CLOCK_RATE_MARGIN;
}

export class Leases {
  #terms: LeaseTerms;
  #outstanding = 0;
  /** One for each window, by its length: a reload keeps those whose window stays. */
  #expiries: Map<number, Expiries>;
  #notBeforeMs: number;
  #lastTakenMs: number | undefined;
  #countedByMs = Number.NEGATIVE_INFINITY;

  constructor(terms: LeaseTerms, nowMs: number, coldMs: number) {
    this.#terms = terms;
    this.#expiries = new Map(terms.rates.map((rate) => [rate.perMs, new Expiries()]));
    this.#notBeforeMs = nowMs + coldMs;
  }

  /** Grants at once, or tells when to ask again. */
  take(nowMs: number, caps: readonly number[]): TakeDecision {
    const untilMs = this.#freeAtMs(nowMs, caps);
    if (untilMs > nowMs) return { kind: "wait", untilMs };
    this.#outstanding += 1;
    this.#lastTakenMs = this.#pacedFromMs(nowMs);
    return { kind: "granted" };
  }

  settle(settlement: Settlement, nowMs: number): void {
    this.#outstanding -= 1;
    if (settlement === "unsent") return;
    const fromMs = settlement === "answered" ? nowMs : nowMs + this.#terms.lingerMs;
    this.#countedByMs = Math.max(this.#countedByMs, fromMs);
    for (const [perMs, expiries] of this.#expiries) {
      expiries.dropUntil(nowMs);
      expiries.add(fromMs + perMs * CLOCK_RATE_MARGIN);
    }
  }

  /** When the last of its requests was counted at the latest; infinite while one is on its way. */
  get countedByMs(): number {
    return this.#outstanding > 0 ? Infinity : this.#countedByMs;
  }

  /** Leases that count against a window now. */
  heldIn(perMs: number, nowMs: number): number {
    const expiries = this.#expiries.get(perMs);
    expiries?.dropUntil(nowMs);
    return this.#outstanding + (expiries?.size ?? 0);
  }

  /** New terms; what is held stays held. A window that was not watched before has to be waited for. */
  change(terms: LeaseTerms, nowMs: number, forgottenMs: number): void {
    const isUnwatched = terms.rates.some((rate) => !this.#expiries.has(rate.perMs));
    if (isUnwatched || terms.lingerMs > this.#terms.lingerMs) {
      this.#notBeforeMs = Math.max(this.#notBeforeMs, nowMs + forgottenMs);
    }
    this.#expiries = new Map(
      terms.rates.map((rate) => [rate.perMs, this.#expiries.get(rate.perMs) ?? new Expiries()]),
    );
    this.#terms = terms;
  }

  /** The moment from which the next gap counts: now, or a little earlier where timers are too coarse for the gap. */
  #pacedFromMs(nowMs: number): number {
    const gapMs = paceGapMs(this.#terms.rates);
    if (gapMs >= PACE_GRAIN_MS || this.#lastTakenMs === undefined) return nowMs;
    return Math.max(this.#lastTakenMs + gapMs, nowMs - PACE_GRAIN_MS);
  }

  #freeAtMs(nowMs: number, caps: readonly number[]): number {
    let untilMs = this.#notBeforeMs;
    this.#terms.rates.forEach((rate, index) => {
      const cap = Math.min(rate.cap, caps[index] ?? rate.cap);
      const pacedAtMs = this.#lastTakenMs === undefined ? nowMs : this.#lastTakenMs + rate.perMs / cap;
      const excess = this.heldIn(rate.perMs, nowMs) - cap + 1;
      const roomAtMs =
        excess <= 0
          ? nowMs
          : // Those without an expiry yet must end first, and then be held for a whole window.
            (this.#expiries.get(rate.perMs)?.nth(excess) ?? nowMs + rate.perMs * CLOCK_RATE_MARGIN);
      untilMs = Math.max(untilMs, pacedAtMs, roomAtMs);
    });
    return untilMs;
  }
}

/** The moments at which settled leases end, soonest first. Never longer than the cap that admits them. */
export class Expiries {
  #times: number[] = [];
  /** Ended ones before this index are dropped in bulk, so that a drop costs nothing amortised. */
  #start = 0;

  get size(): number {
    return this.#times.length - this.#start;
  }

  /** Nearly always the latest so far: only a lingering one is passed by later, shorter ones. */
  add(atMs: number): void {
    let index = this.#times.length;
    while (index > this.#start && (this.#times[index - 1] ?? 0) > atMs) index -= 1;
    this.#times.splice(index, 0, atMs);
  }

  dropUntil(nowMs: number): void {
    while (this.#start < this.#times.length && (this.#times[this.#start] ?? 0) <= nowMs) this.#start += 1;
    if (this.#start > 32 && this.#start * 2 > this.#times.length) {
      this.#times = this.#times.slice(this.#start);
      this.#start = 0;
    }
  }

  /** When the n-th of those left ends (1 is the soonest); undefined where fewer are left. */
  nth(n: number): number | undefined {
    return this.#times[this.#start + n - 1];
  }
}
