import type { Upstream } from "../../kernel/config/config.ts";
import type { BudgetSnapshot, Running } from "../../kernel/metrics/snapshot.ts";
import { type Field, field, type Fields } from "../../kernel/text/field.ts";
import { WHY } from "./concern.ts";
import type { KnownLimit } from "./learned-windows.ts";
import { limitSentence } from "./limit-sentence.ts";

export type Advertised = { readonly limit: number | undefined; readonly remaining: number | undefined };

/** While `perMs` is not known, it lowers nothing. */
type LimitStatus = Omit<KnownLimit, "key" | "resetMs"> & {
  /** For people: "5 requests per 1s, learned from its resets". */
  readonly sentence: string;
};

export const ADVERTISED: Field<Advertised> = field("advertised");
/** Each limit that it spoke of, whatever it counts. */
export const LIMITS: Field<readonly LimitStatus[]> = field("limits");

export function hintFacts(
  budget: BudgetSnapshot,
): Fields & { readonly pausedUntilMs: number; readonly pausedBecause?: string } {
  const { advertisedLimit: limit, advertisedRemaining: remaining, advertisedLimits = [] } = budget;
  const { pausedUntilWallMs: pausedUntilMs = 0, refusedWhy } = budget;
  return {
    [ADVERTISED.name]: limit === undefined && remaining === undefined ? undefined : { limit, remaining },
    [LIMITS.name]: advertisedLimits.map(limitStatusOf),
    pausedUntilMs,
    ...(pausedUntilMs > 0 && refusedWhy && { pausedBecause: WHY[refusedWhy] }),
  };
}

/** Until when an upstream alone is paused, not its budget. */
export function pausedUntilMs({ name }: Upstream, { hints }: Running): number {
  return hints?.upstreamPausedUntilWallMs(name) ?? 0;
}

function limitStatusOf(known: KnownLimit): LimitStatus {
  const { unit, limit, remaining, perMs, windowFrom, resource } = known;
  return { sentence: limitSentence(known), unit, limit, remaining, perMs, windowFrom, resource };
}
