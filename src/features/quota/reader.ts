/** An answer may tell quotas of a day and more, with how much of them is left. */

import type { PollOutcome } from "../../kernel/exchange/outcome.ts";
import { DAY_MS } from "../../kernel/time/duration.ts";
import type { Reader } from "../../kernel/poll/reader.ts";
import { type Field, field, type Fields } from "../../kernel/text/field.ts";
import type { QuotaName } from "./quota-forecast.ts";

export type SeenQuota = {
  readonly quota: Exclude<QuotaName, "own">;
  /** From 0 to 1. */
  readonly left: number;
  readonly refillsInMs: number;
};

export const QUOTAS_LEFT: Field<readonly SeenQuota[]> = field("quotas");

type ToldLimit = Readonly<Record<"limit" | "remaining" | "perMs" | "resetMs", number | undefined>>;

/** `limitsIn`: those that a reader before has found in the answer. */
export function quotaReader(limitsIn: (said: Fields) => readonly ToldLimit[]): Reader<readonly SeenQuota[]> {
  return { ...QUOTAS_LEFT, read: ({ said, outcome }) => readQuotas(limitsIn(said), outcome) };
}

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
  limits: readonly ToldLimit[],
  outcome: PollOutcome,
): readonly SeenQuota[] | undefined {
  if (limits.length === 0 || (outcome.kind === "failed" && outcome.reason !== "assertion")) return undefined;
  const seen = new Map<string, SeenQuota>();
  for (const { limit = 0, remaining, perMs = 0, resetMs = perMs } of limits) {
    const quota = LEAST_MS.find(([, leastMs]) => perMs >= leastMs)?.[0];
    if (quota === undefined || remaining === undefined || limit <= 0) continue;
    const left = Math.min(1, Math.max(0, remaining / limit));
    if (left < (seen.get(quota)?.left ?? Infinity)) seen.set(quota, { quota, left, refillsInMs: resetMs });
  }
  return seen.size === 0 ? undefined : [...seen.values()];
}
