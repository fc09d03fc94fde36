/** How long a process sends nothing, as it does not know what the one before it sent. */

import { partOf } from "../config/part.ts";
import { CLOCK_RATE_MARGIN } from "../time/clock.ts";
import {
  leaseRatesOf,
  type LeaseRate,
  type LeaseTerms,
  PACE_BURST_MS,
  paceGapMs,
  type Rates,
} from "./leases.ts";

/** Of each rate, all that whoever has this part may send: also after the others were restarted. */
export function limitsOf(budget: Rates): readonly number[] {
  return budget.rates.map(({ requests }) => partOf(requests, budget));
}

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
