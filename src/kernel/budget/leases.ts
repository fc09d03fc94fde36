/**
 * The leases of one budget: why no window ever holds more than the cap.
 *
 *      take        the upstream counts it              settled           ended
 *       |------------------ * --------------------------|------- W -------|
 *       ^ before sending   somewhere in here            ^ its answer, or its socket's closing + linger
 *
 *      any window of length W that ends at x:
 *                   (x - W ------------------------- x]
 *      A request that is counted in it was taken before x. Its lease has not ended at x: if it had, it was settled
 *      more than W before x, and so counted before the window. So every request that is counted in the window
 *      still holds its lease at x, and there are never more leases than the cap.
 *
 * No clock is compared with another: only this process's own monotonic durations are used. W is held 0.1 % longer,
 * because clocks run at different rates.
 */

import type { Budget } from "../config/config.ts";
import { capOf, partOf, type Shares } from "../config/part.ts";
import { CLOCK_RATE_MARGIN } from "../time/clock.ts";
import type { Settlement } from "./ledger.ts";

/** There are never more than `cap` leases that have not ended, in every window. */
export type LeaseRate = { readonly perMs: number; readonly cap: number };

export type LeaseTerms = { readonly rates: readonly LeaseRate[]; readonly lingerMs: number };

type Rates = Shares & Pick<Budget, "rates">;

export function leaseRatesOf(budget: Rates): readonly LeaseRate[] {
  return budget.rates.map(({ perMs, requests }) => ({ perMs, cap: capOf(requests, budget) }));
}

/** Of each rate, all that whoever has this part may send: also after the others were restarted. */
export function limitsOf(budget: Rates): readonly number[] {
  return budget.rates.map(({ requests }) => partOf(requests, budget));
}

/** The least time between two requests. It avoids bursts, and keeps the limit over a crash. */
export function paceGapMs(rates: readonly LeaseRate[]): number {
  return Math.max(...rates.map((rate) => rate.perMs / rate.cap));
}

/**
 * Timers wake by the millisecond, and late. What was due meanwhile may catch up this much time in one burst: so in any
 * stretch of a process's life there are at most 1 + (its length + this) / gap requests.
 */
export const PACE_BURST_MS = 100;

/**
 * After this time nothing that was sent before now counts any more, with the same margin as a lease. `uncountedMs`:
 * how long after it was sent a request may still be counted, which is timeout + linger.
 */
export function forgottenAfterMs(terms: LeaseTerms, uncountedMs: number): number {
  const longestWindowMs = Math.max(...terms.rates.map((rate) => rate.perMs));
  return (longestWindowMs + uncountedMs) * CLOCK_RATE_MARGIN;
}

/**
 * Whether requests that are only one pace gap apart fit the limit, over any number of restarts. They do if all that
 * is sent in a window, and within `uncountedMs` before it, fits with one to spare: a process that is stopped keeps
 * requests open for longer, so requests from before and after the stop may be counted in one window. Both may have
 * caught up.
 */
function gapsKeepTheLimit(rate: LeaseRate, limit: number, uncountedMs: number): boolean {
  const stretchMs = rate.perMs * CLOCK_RATE_MARGIN + uncountedMs + 2 * PACE_BURST_MS;
  return rate.cap * stretchMs <= (limit - 1) * rate.perMs;
}

export type ColdStart = {
  readonly rule: "pace_gap" | "whole_window";
  readonly waitMs: number;
  /** With all margins: by the clock of the new process, which may run faster than that of the one before it. */
  readonly coldMs: number;
};

/**
 * A new process does not know what the one before it sent. If gaps alone keep the limit, it waits for one gap; if
 * not, until none of the other's requests counts any more. `uncountedMs`: how long after it was sent a request may
 * still be counted.
 */
export function coldStartOf(
  { rates }: Pick<LeaseTerms, "rates">,
  limits: readonly number[],
  uncountedMs: number,
): ColdStart {
  const rule = rates.every((rate, index) => gapsKeepTheLimit(rate, limits[index] ?? 0, uncountedMs))
    ? "pace_gap"
    : "whole_window";
  const longestWindowMs = Math.max(...rates.map((rate) => rate.perMs));
  const waitMs = rule === "pace_gap" ? paceGapMs(rates) : longestWindowMs + uncountedMs;
  // A burst may catch up for as long, so that processes in a row are paced like one.
  return { rule, waitMs, coldMs: Math.max(waitMs, PACE_BURST_MS) * CLOCK_RATE_MARGIN };
}

export function coldStartOfBudget(budget: Rates, uncountedMs: number): ColdStart {
  // As if each allowed a request, so that what is printed of a budget that does not fit has numbers.
  const rates = leaseRatesOf(budget).map(({ perMs, cap }) => ({ perMs, cap: Math.max(1, cap) }));
  return coldStartOf({ rates }, limitsOf(budget), uncountedMs);
}

export class Leases {
  terms: LeaseTerms;
  /** Between two requests, at least. */
  gapMs: number;
  #outstanding = 0;
  /** By window length. A reload keeps the windows that stay. */
  #expiries: Map<number, Expiries>;
  #notBeforeMs: number;
  #lastTakenMs: number | undefined;
  #countedByMs = Number.NEGATIVE_INFINITY;

  constructor(terms: LeaseTerms, nowMs: number, coldMs: number) {
    this.terms = terms;
    this.gapMs = paceGapMs(terms.rates);
    this.#expiries = new Map(terms.rates.map((rate) => [rate.perMs, new Expiries()]));
    this.#notBeforeMs = nowMs + coldMs;
  }

  /** When none is held any more, and the cold start is over; infinite while a request is in flight. */
  get endAtMs(): number {
    if (this.#outstanding > 0) return Infinity;
    return Math.max(this.#notBeforeMs, ...[...this.#expiries.values()].map(({ last }) => last));
  }

  /** Call it only where `freeAtMs` is not later than now. */
  grant(nowMs: number): void {
    this.#outstanding += 1;
    this.#lastTakenMs = this.#pacedFromMs(nowMs);
  }

  settle(settlement: Settlement, nowMs: number): void {
    this.#outstanding -= 1;
    if (settlement === "unsent") return;
    const fromMs = settlement === "answered" ? nowMs : nowMs + this.terms.lingerMs;
    this.#countedByMs = Math.max(this.#countedByMs, fromMs);
    for (const [perMs, expiries] of this.#expiries) {
      expiries.dropUntil(nowMs);
      expiries.add(fromMs + perMs * CLOCK_RATE_MARGIN);
    }
  }

  /** The latest moment at which its last request was counted; infinite while one is in flight. */
  get countedByMs(): number {
    return this.#outstanding > 0 ? Infinity : this.#countedByMs;
  }

  get inFlight(): number {
    return this.#outstanding;
  }

  /** It sends since its cold start, or since a change made it wait. */
  get hasBegun(): boolean {
    return this.#lastTakenMs !== undefined && this.#lastTakenMs >= this.#notBeforeMs;
  }

  /** Leases that count against a window now. */
  heldIn(perMs: number, nowMs: number): number {
    const expiries = this.#expiries.get(perMs);
    expiries?.dropUntil(nowMs);
    return this.#outstanding + (expiries?.size ?? 0);
  }

  /**
   * Leases stay held under the new terms. A window that was not tracked before has to pass first, and one that is divided
   * otherwise (`isOtherPart`): another vantage may have used what is ours now.
   */
  change(terms: LeaseTerms, nowMs: number, forgottenMs: number, isOtherPart = false): void {
    const isUntracked = terms.rates.some((rate) => !this.#expiries.has(rate.perMs));
    if (isUntracked || isOtherPart || terms.lingerMs > this.terms.lingerMs) {
      this.#notBeforeMs = Math.max(this.#notBeforeMs, nowMs + forgottenMs);
    }
    this.#expiries = new Map(
      terms.rates.map((rate) => [rate.perMs, this.#expiries.get(rate.perMs) ?? new Expiries()]),
    );
    this.terms = terms;
    this.gapMs = paceGapMs(terms.rates);
  }

  /** The next gap counts from here: from when this one was due, at most so much earlier than now. */
  #pacedFromMs(nowMs: number): number {
    if (this.#lastTakenMs === undefined) return nowMs;
    return Math.max(this.#lastTakenMs + this.gapMs, nowMs - PACE_BURST_MS);
  }

  freeAtMs(nowMs: number, caps: readonly number[]): number {
    let untilMs = this.#notBeforeMs;
    for (const [index, rate] of this.terms.rates.entries()) {
      const cap = Math.min(rate.cap, caps[index] ?? rate.cap);
      const pacedAtMs = this.#lastTakenMs === undefined ? nowMs : this.#lastTakenMs + rate.perMs / cap;
      const excess = this.heldIn(rate.perMs, nowMs) - cap + 1;
      const roomAtMs =
        excess <= 0
          ? nowMs
          : // Requests in flight have no expiry yet: they must end first, and are then held for a whole window.
            (this.#expiries.get(rate.perMs)?.nth(excess) ?? nowMs + rate.perMs * CLOCK_RATE_MARGIN);
      untilMs = Math.max(untilMs, pacedAtMs, roomAtMs);
    }
    return untilMs;
  }
}

/** Settled leases end at these times, soonest first. There are never more of them than the cap. */
class Expiries {
  #times: number[] = [];
  /** Entries before this index have ended. They are removed in bulk, which is cheaper. */
  #start = 0;

  get size(): number {
    return this.#times.length - this.#start;
  }

  get last(): number {
    return this.#times.at(-1) ?? Number.NEGATIVE_INFINITY;
  }

  /** Nearly always the latest so far. Only one that lingers is overtaken by later, shorter ones. */
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

  /** When the n-th lease from now ends (1 is the soonest); undefined if there are fewer. */
  nth(n: number): number | undefined {
    return this.#times[this.#start + n - 1];
  }
}
