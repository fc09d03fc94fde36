/** A replica of a fleet may have a part of a budget for itself; a process alone has all of it. */

import { type Budget, capOf } from "../config/config.ts";
import { coldStartOf, type ColdStart, forgottenAfterMs, type LeaseRate, type LeaseTerms } from "./leases.ts";

const ROUNDING = 1e-9;

/** Whole requests. */
export function ofPart(requests: number, part: number): number {
  return Math.floor(requests * part + ROUNDING);
}

export function ratesOfPart(
  { rates, share }: Pick<Budget, "rates" | "share">,
  part: number,
): readonly LeaseRate[] {
  return rates.map((rate) => ({ perMs: rate.perMs, cap: ofPart(capOf(rate, share), part) }));
}

export type Start = ColdStart & {
  /** After this time nothing that was sent before counts any more. */
  readonly forgottenMs: number;
};

/**
 * How long whoever comes next waits before its first request, by the part's own whole numbers: the roundings of several
 * parts would add up. `uncountedMs`: how long after it was sent a request may still be counted.
 */
export function startOf(budget: Budget, uncountedMs: number, part = 1): Start {
  const rates = ratesOfPart(budget, part).map(({ perMs, cap }) => ({ perMs, cap: Math.max(1, cap) }));
  const terms: LeaseTerms = { rates, lingerMs: budget.lingerMs };
  const limits = budget.rates.map(({ requests }) => ofPart(requests, part));
  return {
    ...coldStartOf(terms, limits, uncountedMs),
    forgottenMs: forgottenAfterMs(terms, uncountedMs),
  };
}
