/** What an upstream's advice means for one budget. Computed with the config, applied where the budget is kept. */

import type { Advice } from "../advice/advice.ts";
import type { Budget, Rate } from "../config/config.ts";

const LONGEST_QUOTA_WINDOW_MS = 24 * 3_600_000;

export type UpstreamSignals = {
  /** The upstream refused. Without a pause, the budget backs off by itself. */
  readonly isThrottled: boolean;
  /** Pause of the whole budget, at most `max_pause`; 0 if none was requested. */
  readonly pauseMs: number;
  /** Limits below the configured ones, in the windows of the configured rates. */
  readonly lowered: readonly { readonly perMs: number; readonly requests: number }[];
  /** Undefined if the upstream advertised nothing. */
  readonly advertised:
    | { readonly limit: number | undefined; readonly remaining: number | undefined }
    | undefined;
  /** How long to yield to production; 0 ends it, undefined leaves it as it is. */
  readonly yieldMs: number | undefined;
  /** The operator's word, not the upstream's: pause and yielding end, and nothing else is heard. */
  readonly isResume?: true;
};

export const RESUME: UpstreamSignals = {
  isThrottled: false,
  pauseMs: 0,
  lowered: [],
  advertised: undefined,
  yieldMs: undefined,
  isResume: true,
};

export function signalsOf(advice: Advice, budget: Budget): UpstreamSignals {
  const advertisedLimits = advice.limits.map((limit) => limit.requests);
  const { remaining } = advice;
  return {
    isThrottled: advice.throttled,
    pauseMs:
      advice.pause?.scope === "budget" ? Math.min(Math.max(0, advice.pause.forMs), budget.maxPauseMs) : 0,
    lowered: advice.limits
      .map((limit) => loweredBy(limit.requests, limit.perMs, budget))
      .filter((lowered) => lowered !== undefined),
    advertised:
      advertisedLimits.length === 0 && remaining === undefined
        ? undefined
        : {
            limit:
              remaining?.limit ?? (advertisedLimits.length > 0 ? Math.min(...advertisedLimits) : undefined),
            remaining: remaining?.requests,
          },
    yieldMs: remaining === undefined ? undefined : yieldMsOf(remaining, budget),
  };
}

export function longestWindowMs(budget: Budget): number {
  return Math.max(...budget.rates.map((rate) => rate.perMs));
}

function loweredBy(
  requests: number,
  perMs: number | undefined,
  budget: Budget,
): UpstreamSignals["lowered"][number] | undefined {
  if (perMs !== undefined && perMs >= LONGEST_QUOTA_WINDOW_MS) return undefined;
  const rate = rateMeantBy(requests, perMs, budget);
  if (rate === undefined) return undefined;
  const inItsWindow = perMs === undefined ? requests : Math.floor((requests * rate.perMs) / perMs);
  return inItsWindow >= rate.requests ? undefined : { perMs: rate.perMs, requests: inItsWindow };
}

/** The rate with the nearest window; if no window was given, with the nearest number of requests. */
function rateMeantBy(requests: number, perMs: number | undefined, budget: Budget): Rate | undefined {
  const distance = (rate: Rate): number =>
    perMs === undefined
      ? Math.abs(Math.log(rate.requests / requests))
      : Math.abs(Math.log(rate.perMs / perMs));
  return budget.rates.toSorted((a, b) => distance(a) - distance(b))[0];
}

function yieldMsOf(remaining: NonNullable<Advice["remaining"]>, budget: Budget): number {
  const ofLimit = remaining.limit ?? Math.min(...budget.rates.map((rate) => rate.requests));
  if (remaining.requests >= budget.yieldBelow * ofLimit) return 0;
  return Math.min(remaining.resetMs ?? longestWindowMs(budget), budget.maxPauseMs);
}
