/**
 * An upstream's advice means something else for each budget. It is computed with the config, and applied where the
 * budget is kept.
 */

import type { Advice } from "../advice/advice.ts";
import { type Budget, capOf, type Rate } from "../config/config.ts";
import { DAY_MS } from "../time/duration.ts";

const LONGEST_QUOTA_WINDOW_MS = DAY_MS;

export type UpstreamSignals = {
  /** The upstream refused. Without a pause, the budget backs off by itself. */
  readonly isThrottled: boolean;
  /** The whole budget pauses for so long, at most for `max_pause`; 0 if no pause was requested. */
  readonly pauseMs: number;
  /** These limits are below the configured ones, and in the windows of the configured rates. */
  readonly lowered: readonly { readonly perMs: number; readonly requests: number }[];
  /** Undefined if the upstream advertised nothing. */
  readonly advertised:
    | {
        readonly limit: number | undefined;
        readonly remaining: number | undefined;
        /** How long `remaining` holds; undefined if the upstream did not say. */
        readonly remainingForMs?: number | undefined;
      }
    | undefined;
  /** We yield to production for so long; 0 ends it, undefined leaves it as it is. */
  readonly yieldMs: number | undefined;
};

/** The schedules need so many requests in a window of a rate, whatever is advertised. */
export type Needs = (rate: Rate) => number;

/** `needs`: by its word alone, an upstream does not take the cap below this. */
export function signalsOf(advice: Advice, budget: Budget, needs: Needs = () => 0): UpstreamSignals {
  const advertisedLimits = advice.limits.map((limit) => limit.requests);
  const { remaining } = advice;
  return {
    isThrottled: advice.throttled,
    pauseMs:
      advice.pause?.scope === "budget" ? Math.min(Math.max(0, advice.pause.forMs), budget.maxPauseMs) : 0,
    lowered: advice.limits
      .map((limit) => loweredBy(limit.requests, limit.perMs, budget, needs))
      .filter((lowered) => lowered !== undefined),
    advertised:
      advertisedLimits.length === 0 && remaining === undefined
        ? undefined
        : {
            limit:
              remaining?.limit ?? (advertisedLimits.length > 0 ? Math.min(...advertisedLimits) : undefined),
            remaining: remaining?.requests,
            remainingForMs: remaining?.resetMs && Math.min(remaining.resetMs, budget.maxPauseMs),
          },
    yieldMs: remaining === undefined ? undefined : yieldMsOf(remaining, budget),
  };
}

/** The rate with the longest window. */
export function longestRateOf(budget: Budget): Rate {
  return budget.rates.reduce((a, b) => (b.perMs > a.perMs ? b : a));
}

function loweredBy(
  requests: number,
  perMs: number | undefined,
  budget: Budget,
  needs: Needs,
): UpstreamSignals["lowered"][number] | undefined {
  // A limit without a window is no limit yet: to take it for that of a rate would be a guess.
  if (perMs === undefined || perMs >= LONGEST_QUOTA_WINDOW_MS) return undefined;
  const rate = rateMeantBy(perMs, budget);
  if (rate === undefined) return undefined;
  const advertised = Math.floor((requests * rate.perMs) / perMs);
  const inItsWindow = Math.max(advertised, Math.ceil(needs(rate) / budget.share - 1e-9));
  return inItsWindow >= rate.requests ? undefined : { perMs: rate.perMs, requests: inItsWindow };
}

/** Where `needs` keeps the cap above what is advertised: so many polls in the window of the rate that it is about. */
export function floorOver(
  requests: number,
  perMs: number,
  budget: Budget,
  needs: Needs,
): { readonly polls: number; readonly rate: Rate } | undefined {
  const rate = rateMeantBy(perMs, budget);
  if (rate === undefined || perMs >= LONGEST_QUOTA_WINDOW_MS) return undefined;
  const advertised = Math.floor((requests * rate.perMs) / perMs);
  const polls = Math.ceil(needs(rate) - 1e-9);
  const isHeldUp =
    advertised < rate.requests && polls > Math.max(1, capOf({ requests: advertised }, budget.share));
  return isHeldUp ? { polls, rate } : undefined;
}

/** An advertised limit is about the rate with the nearest window. */
function rateMeantBy(perMs: number, budget: Budget): Rate | undefined {
  const distance = (rate: Rate): number => Math.abs(Math.log(rate.perMs / perMs));
  return budget.rates.toSorted((a, b) => distance(a) - distance(b))[0];
}

function yieldMsOf(remaining: NonNullable<Advice["remaining"]>, budget: Budget): number {
  // Nothing but our own request is missing: nobody else needs what is left.
  if (remaining.limit !== undefined && remaining.requests >= remaining.limit - 1) return 0;
  const ofLimit = remaining.limit ?? Math.min(...budget.rates.map((rate) => rate.requests));
  if (remaining.requests >= budget.yieldBelow * ofLimit) return 0;
  return Math.min(remaining.resetMs ?? longestRateOf(budget).perMs, budget.maxPauseMs);
}

type Limit = Advice["limits"][number];

/**
 * An upstream may draw on several budgets, and its answers do not say which of them they speak of: this leaves of one what
 * concerns `budget`, where its upstream draws on `all` of these. A number that is the limit of
 * one budget and of no other speaks of that one: a model's limit says nothing of its account's. Where it cannot be
 * told, it concerns each of them; a refusal or a pause never says whose limit was reached.
 */
export function adviceFor(budget: Budget, all: readonly Budget[], advice: Advice): Advice {
  if (all.length === 1) return advice;
  const concerns = (limit: Limit): boolean => {
    const named = all.filter((each) => isLimitOf(each, limit));
    return named.length !== 1 || named[0] === budget;
  };
  const { families, limits, remaining } = advice;
  const left = remaining?.limit;
  const isMeant = left === undefined || concerns({ requests: left, perMs: undefined });
  return {
    ...advice,
    families: families.filter(
      ({ unit, limit, perMs }) =>
        unit !== "requests" || limit === undefined || concerns({ requests: limit, perMs }),
    ),
    limits: limits.filter(concerns),
    remaining: isMeant ? remaining : undefined,
  };
}

function isLimitOf({ rates }: Budget, { requests, perMs }: Limit): boolean {
  return rates.some((rate) => rate.requests === requests && (perMs ?? rate.perMs) === rate.perMs);
}
