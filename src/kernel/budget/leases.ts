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
import { capOf, type Shares } from "../config/part.ts";
import { CLOCK_RATE_MARGIN } from "../time/clock.ts";
import type { Settlement } from "./ledger.ts";

/** There are never more than `cap` leases that have not ended, in every window. */
export type LeaseRate = { readonly perMs: number; readonly cap: number };

export type LeaseTerms = { readonly rates: readonly LeaseRate[]; readonly lingerMs: number };

export type Rates = Shares & Pick<Budget, "rates">;

export function leaseRatesOf(budget: Rates): readonly LeaseRate[] {
  return budget.rates.map(({ perMs, requests }) => ({ perMs, cap: capOf(requests, budget) }));
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

export class Leases {
  terms: LeaseTerms;
  #gapMs: number;
  #outstanding = 0;
  /**
   * By window length, when its settled leases end, soonest first: never more of them than the cap. A reload keeps the
   * windows that stay.
   */
  #expiries: Map<number, number[]>;
  #notBeforeMs: number;
  #lastTakenMs: number | undefined;
  #countedByMs = Number.NEGATIVE_INFINITY;
  /** It sends since its cold start, or since a change made it wait. */
  hasBegun = false;

  constructor(terms: LeaseTerms, nowMs: number, coldMs: number) {
    this.terms = terms;
    this.#gapMs = paceGapMs(terms.rates);
    this.#expiries = new Map(terms.rates.map((rate) => [rate.perMs, []]));
    this.#notBeforeMs = nowMs + coldMs;
  }

  /** When none is held any more, and the cold start is over; infinite while a request is in flight. */
  get endAtMs(): number {
    if (this.#outstanding > 0) return Infinity;
    return Math.max(this.#notBeforeMs, ...[...this.#expiries.values()].map((times) => times.at(-1) ?? 0));
  }

  /** Call it only where `freeAtMs` is not later than now. */
  grant(nowMs: number): void {
    this.#outstanding += 1;
    this.hasBegun = true;
    this.#lastTakenMs = this.#pacedFromMs(nowMs);
  }

  settle(settlement: Settlement, nowMs: number): void {
    this.#outstanding -= 1;
    if (settlement === "unsent") return;
    const fromMs = settlement === "answered" ? nowMs : nowMs + this.terms.lingerMs;
    this.#countedByMs = Math.max(this.#countedByMs, fromMs);
    for (const [perMs, times] of this.#expiries) {
      dropUntil(times, nowMs);
      addInOrder(times, fromMs + perMs * CLOCK_RATE_MARGIN);
    }
  }

  /** The latest moment at which its last request was counted; infinite while one is in flight. */
  get countedByMs(): number {
    return this.#outstanding > 0 ? Infinity : this.#countedByMs;
  }

  get inFlight(): number {
    return this.#outstanding;
  }

  /** Leases that count against a window now. */
  heldIn(perMs: number, nowMs: number): number {
    const times = this.#expiries.get(perMs) ?? [];
    dropUntil(times, nowMs);
    return this.#outstanding + times.length;
  }

  /**
   * Leases stay held under the new terms. A window that was not tracked before has to pass first, and one that is divided
   * otherwise (`isOtherPart`): another vantage may have used what is ours now.
   */
  change(terms: LeaseTerms, nowMs: number, forgottenMs: number, isOtherPart = false): void {
    const isUntracked = terms.rates.some((rate) => !this.#expiries.has(rate.perMs));
    if (isUntracked || isOtherPart || terms.lingerMs > this.terms.lingerMs) {
      this.#notBeforeMs = Math.max(this.#notBeforeMs, nowMs + forgottenMs);
      this.hasBegun = false;
    }
    this.#expiries = new Map(terms.rates.map((rate) => [rate.perMs, this.#expiries.get(rate.perMs) ?? []]));
    this.terms = terms;
    this.#gapMs = paceGapMs(terms.rates);
  }

  /** The next gap counts from here: from when this one was due, at most so much earlier than now. */
  #pacedFromMs(nowMs: number): number {
    if (this.#lastTakenMs === undefined) return nowMs;
    return Math.max(this.#lastTakenMs + this.#gapMs, nowMs - PACE_BURST_MS);
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
            (this.#expiries.get(rate.perMs)?.[excess - 1] ?? nowMs + rate.perMs * CLOCK_RATE_MARGIN);
      untilMs = Math.max(untilMs, pacedAtMs, roomAtMs);
    }
    return untilMs;
  }
}

/** Nearly always it is the latest so far. Only one that lingers is overtaken by later, shorter ones. */
function addInOrder(times: number[], atMs: number): void {
  let index = times.length;
  while ((times[index - 1] ?? Number.NEGATIVE_INFINITY) > atMs) index -= 1;
  times.splice(index, 0, atMs);
}

function dropUntil(times: number[], nowMs: number): void {
  let ended = 0;
  while ((times[ended] ?? Infinity) <= nowMs) ended += 1;
  if (ended > 0) times.splice(0, ended);
}
