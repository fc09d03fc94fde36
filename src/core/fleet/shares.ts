/** How a budget's cap is divided: the part that all replicas share, and each replica's own reserve. */

import { type Budget, type Fleet, capOf } from "../config/config.ts";
import type { LeaseRate } from "../budget/leases.ts";
import type { SharedTerms } from "./ledger-store.ts";

/** The longest time from asking for a lease to the start of its poll. */
const SLACK_MS = 1_000;

export type Division = Pick<Fleet, "replicas" | "reserve">;

/** How many replicas poll each upstream. */
export function vantagesOf(fleet: Pick<Fleet, "mode" | "replicas"> | undefined): number {
  return fleet?.mode === "everywhere" ? fleet.replicas : 1;
}

/** One replica's reserve. */
export function reservedOf(cap: number, { replicas, reserve }: Division): number {
  return Math.floor((cap * reserve) / replicas + 1e-9);
}

/** The shared part. */
export function sharedOf(cap: number, division: Division): number {
  return cap - division.replicas * reservedOf(cap, division);
}

/** Undefined if a rate leaves no reserve. */
export function reservedRates(budget: Budget, division: Division): readonly LeaseRate[] | undefined {
  const rates = budget.rates.map((rate) => ({
    perMs: rate.perMs,
    cap: reservedOf(capOf(rate, budget.share), division),
  }));
  return rates.some(({ cap }) => cap < 1) ? undefined : rates;
}

/** How long after it was asked for a lease may be used. */
export function usableForMs(timeoutMs: number): number {
  return SLACK_MS + timeoutMs;
}

export function sharedTermsOf(
  budget: Budget,
  fleet: Fleet,
  timeoutMs: number,
  hasReserve: boolean,
): SharedTerms {
  const own = hasReserve ? reservedRates(budget, fleet) : undefined;
  return {
    replica: fleet.name,
    budget: budget.name,
    rates: budget.rates.map((rate, index) => {
      const cap = sharedOf(capOf(rate, budget.share), fleet);
      return { perMs: rate.perMs, cap, aside: capOf(rate, budget.share) - cap, own: own?.[index]?.cap ?? 0 };
    }),
    share: budget.share,
    maxPauseMs: budget.maxPauseMs,
    lingerMs: budget.lingerMs,
    // Used at the last moment, and then counted as late as possible.
    holdMs: usableForMs(timeoutMs) + timeoutMs + budget.lingerMs,
    quota: budget.quota && { requests: budget.quota.requests, perMs: budget.quota.perMs },
  };
}
