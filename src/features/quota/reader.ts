/** An answer may tell quotas of a day and more, with how much of them is left. */

import { ADVICE } from "../hints/fields/advice.ts";
import type { LimitFamily } from "../hints/fields/limits.ts";
import type { PollOutcome } from "../../kernel/exchange/outcome.ts";
import { DAY_MS } from "../../kernel/time/duration.ts";
import { type Reader, reader } from "../../kernel/poll/reader.ts";
import type { QuotaName } from "./quota-forecast.ts";

export type SeenQuota = {
  readonly quota: Exclude<QuotaName, "own">;
  /** From 0 to 1. */
  readonly left: number;
  readonly refillsInMs: number;
};

export const QUOTAS_LEFT: Reader<readonly SeenQuota[]> = reader("quotas", ({ said, outcome }) =>
  readQuotas(ADVICE.of(said)?.families ?? [], outcome),
);

/** The shortest month is shorter than 30 days. */
const LEAST_MS: readonly (readonly [SeenQuota["quota"], number])[] = [
  ["30d", 28 * DAY_MS],
  ["7d", 7 * DAY_MS],
  ["1d", DAY_MS],
];

/**
 * Where several last equally long, the one with the least left counts. A failed answer is not believed, as with values.
 */
export function readQuotas(
  families: readonly LimitFamily[],
  outcome: PollOutcome,
): readonly SeenQuota[] | undefined {
  if (families.length === 0 || (outcome.kind === "failed" && outcome.reason !== "assertion"))
    return undefined;
  const seen = new Map<string, SeenQuota>();
  for (const { limit = 0, remaining, perMs = 0, resetMs = perMs } of families) {
    const quota = LEAST_MS.find(([, leastMs]) => perMs >= leastMs)?.[0];
    if (quota === undefined || remaining === undefined || limit <= 0) continue;
    const left = Math.min(1, Math.max(0, remaining / limit));
    if (left < (seen.get(quota)?.left ?? Infinity)) seen.set(quota, { quota, left, refillsInMs: resetMs });
  }
  return seen.size === 0 ? undefined : [...seen.values()];
}
