/** An upstream may draw on several budgets, and its answers do not say which of them they speak of. */

import type { Advice } from "../advice/advice.ts";
import type { Budget } from "../config/config.ts";

type Limit = Advice["limits"][number];

/**
 * Leaves of an answer what concerns `budget`, where its upstream draws on `all` of these. A number that is the limit of
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
