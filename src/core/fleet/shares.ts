/** How a budget's cap is divided: what all replicas share, and what each of them has for itself. */

import { type Budget, type Fleet, capOf } from "../config/config.ts";
import type { LeaseRate } from "../budget/leases.ts";
import type { SharedTerms } from "./shared-terms.ts";

/** From the asking for a lease to the beginning of its poll, at the most. */
const SLACK_MS = 1_000;

export type Division = Pick<Fleet, "replicas" | "reserve">;

/** How many times each upstream is polled. */
export function vantagesOf(fleet: Pick<Fleet, "mode" | "replicas"> | undefined): number {
  return fleet?.mode === "everywhere" ? fleet.replicas : 1;
}

/** What one replica has for itself of this cap. */
export function reservedOf(cap: number, { replicas, reserve }: Division): number {
  return Math.floor((cap * reserve) / replicas + 1e-9);
}

/** What is left of this cap for all of them. */
export function sharedOf(cap: number, division: Division): number {
  return cap - division.replicas * reservedOf(cap, division);
}

/** Undefined where any rate leaves nothing. */
export function reservedRates(budget: Budget, division: Division): readonly LeaseRate[] | undefined {
  const rates = budget.rates.map((rate) => ({
    perMs: rate.perMs,
    cap: reservedOf(capOf(rate, budget.share), division),
  }));
  return rates.some(({ cap }) => cap < 1) ? undefined : rates;
}

/** How long after it was asked for a lease may be written with. */
export function usableForMs(timeoutMs: number): number {
  return SLACK_MS + timeoutMs;
}

export function sharedTermsOf(budget: Budget, fleet: Fleet, timeoutMs: number): SharedTerms {
  return {
    replica: fleet.name,
    budget: budget.name,
    rates: budget.rates.map((rate) => {
      const cap = sharedOf(capOf(rate, budget.share), fleet);
      return { perMs: rate.perMs, cap, aside: capOf(rate, budget.share) - cap };
    }),
    share: budget.share,
    maxPauseMs: budget.maxPauseMs,
    lingerMs: budget.lingerMs,
    // Written at the last moment, and then left alone for as long as a request may go uncounted.
    holdMs: usableForMs(timeoutMs) + timeoutMs + budget.lingerMs,
    ...(budget.quota === undefined
      ? { quota: undefined }
      : { quota: { requests: budget.quota.requests, perMs: budget.quota.perMs } }),
  };
}
