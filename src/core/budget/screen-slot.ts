/** Whether a slot is to be used at all, before anybody waits for a lease. */

import type { SkipCause } from "../exchange/outcome.ts";
import type { BudgetRestraint } from "./ledger.ts";

/** While yielding to production, one slot in this many is used. */
const YIELD_KEEPS_ONE_IN = 4;

export type Screening = {
  readonly skip: Extract<SkipCause, "backoff" | "yield" | "quota"> | undefined;
  /** Slots passed over in a row by yielding: to be handed in at the next slot. */
  readonly yielded: number;
};

export function screenSlot(
  restraint: BudgetRestraint,
  upstreamPausedUntilMs: number,
  yielded: number,
  nowMs: number,
): Screening {
  if (restraint.pausedUntilMs > nowMs || upstreamPausedUntilMs > nowMs) return { skip: "backoff", yielded };
  if (restraint.isQuotaSpent) return { skip: "quota", yielded };
  if (restraint.isYielding && yielded < YIELD_KEEPS_ONE_IN - 1)
    return { skip: "yield", yielded: yielded + 1 };
  return { skip: undefined, yielded: 0 };
}
