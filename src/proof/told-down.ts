/** How soon an outage is known: its first failure, and those that confirm it. And how soon its end is. */

import type { Budget, Upstream } from "../kernel/config/config.ts";
import { leaseRatesOf, paceGapMs } from "../kernel/budget/leases.ts";
import type { Watched } from "./crowding.ts";
import type { Proof } from "./proof.ts";

export type ToldDown = {
  readonly upstream: string;
  /** The outage begins just before a slot, and is answered at once. */
  readonly earliestMs: number;
  /** It begins just after a poll, and each further poll hangs until its timeout. */
  readonly latestMs: number;
  /** How often it is looked at again between two slots while it is down. */
  readonly looksAgain: number;
  /** No later is it known that it is over, but for the time of one answer. */
  readonly overWithinMs: number;
};

export function toldDown(
  { budgets, upstreams }: Watched,
  { looksAgain: looks }: Pick<Proof, "looksAgain">,
): readonly ToldDown[] {
  const gaps = new Map(budgets.map((budget) => [budget.name, gapOf(budget)]));
  return upstreams.map((upstream) => {
    const gapMs = Math.max(0, ...upstream.budgets.map((budget) => gaps.get(budget) ?? 0));
    const again = { looksAgain: looks.get(upstream.name) ?? 0, overWithinMs: upstream.schedule.longestGapMs };
    return { upstream: upstream.name, ...soonestAndLatest(upstream, gapMs), ...again };
  });
}

function gapOf(budget: Budget): number {
  const rates = leaseRatesOf(budget).map(({ perMs, cap }) => ({ perMs, cap: Math.max(1, cap) }));
  return paceGapMs(rates);
}

function soonestAndLatest(
  { confirm, confirmOverMs, timeoutMs, schedule }: Upstream,
  gapMs: number,
): Pick<ToldDown, "earliestMs" | "latestMs"> {
  const confirmedAfter = (tookMs: number): number => {
    if (confirm === 0) return tookMs;
    const evenlyMs = Math.max(0, confirmOverMs - tookMs) / confirm;
    return tookMs + confirm * (Math.max(gapMs, evenlyMs) + tookMs);
  };
  return { earliestMs: confirmedAfter(0), latestMs: schedule.longestGapMs + confirmedAfter(timeoutMs) };
}
