/** An answer's hints mean something else for each budget: they are read with the config. */

import type { AdvertisedLimit, RemainingRequests } from "./fields/limits.ts";
import type { Budget, Rate } from "../../kernel/config/config.ts";
import { capOf, limitFor } from "../../kernel/config/part.ts";
import type { Needs } from "../../kernel/budget/needs.ts";
import { DAY_MS } from "../../kernel/time/duration.ts";

/** While yielding to production, one slot in this many is used. */
export const YIELD_KEEPS_ONE_IN = 4;

const LONGEST_QUOTA_WINDOW_MS = DAY_MS;

/** The rate with the longest window. */
export function longestRateOf(budget: Budget): Rate {
  return budget.rates.reduce((a, b) => (b.perMs > a.perMs ? b : a));
}

/** `needs`: by its word alone, an upstream does not take the cap below this. Undefined where it lowers no rate. */
export function loweredBy(
  limit: AdvertisedLimit,
  budget: Budget,
  needs: Needs,
): { readonly perMs: number; readonly requests: number } | undefined {
  const meant = rateMeantBy(limit, budget);
  if (meant === undefined) return undefined;
  const { rate, advertised } = meant;
  const inItsWindow = Math.max(advertised, limitFor(needs(rate), budget));
  return inItsWindow >= rate.requests ? undefined : { perMs: rate.perMs, requests: inItsWindow };
}

/** Where `needs` keeps the cap above what is advertised: so many polls in the window of the rate that it is about. */
export function floorOver(
  requests: number,
  perMs: number,
  budget: Budget,
  needs: Needs,
): { readonly polls: number; readonly rate: Rate } | undefined {
  const meant = rateMeantBy({ requests, perMs }, budget);
  if (meant === undefined) return undefined;
  const { rate, advertised } = meant;
  const polls = Math.ceil(needs(rate) - 1e-9);
  const isHeldUp = advertised < rate.requests && polls > Math.max(1, capOf(advertised, budget));
  return isHeldUp ? { polls, rate } : undefined;
}

/** An advertised limit is about the rate with the nearest window: it allows so much in that. */
function rateMeantBy(
  { requests, perMs }: AdvertisedLimit,
  budget: Budget,
): { readonly rate: Rate; readonly advertised: number } | undefined {
  // A limit without a window is no limit yet: to take it for that of a rate would be a guess.
  if (perMs === undefined || perMs >= LONGEST_QUOTA_WINDOW_MS) return undefined;
  const distance = (rate: Rate): number => Math.abs(Math.log(rate.perMs / perMs));
  const [rate] = budget.rates.toSorted((a, b) => distance(a) - distance(b));
  return rate && { rate, advertised: Math.floor((requests * rate.perMs) / perMs) };
}

/** Production comes first for so long; 0 for not at all. */
export function yieldMsOf(remaining: RemainingRequests, budget: Budget): number {
  // Nothing but our own request is missing: nobody else needs what is left.
  if (remaining.limit !== undefined && remaining.requests >= remaining.limit - 1) return 0;
  const ofLimit = remaining.limit ?? Math.min(...budget.rates.map((rate) => rate.requests));
  if (remaining.requests >= budget.yieldBelow * ofLimit) return 0;
  return Math.min(remaining.resetMs ?? longestRateOf(budget).perMs, budget.maxPauseMs);
}
