/**
 * Whether those who draw on several budgets find them free together, in time. In one budget everybody just takes the
 * next turn. Who needs another budget as well may have to wait for that one's turn while this one stands idle:
 *
 *      this budget      ──█────█────░░░█────█      ░ kept free for who also waits for the other one
 *      the other one    ──────█───────█─────
 *
 * At the most for one pace gap: whoever would be done before the other one is free goes first.
 */

import { sendersByBudget } from "../kernel/budget/needs.ts";
import type { Budget, Config, Upstream } from "../kernel/config/config.ts";
import { leaseRatesOf } from "../kernel/budget/leases.ts";
import { type Ask, allServedInTime, asksOf, paceOf } from "./pace.ts";

/** So much of a config decides whether it fits. */
export type Watched = Pick<Config, "budgets" | "upstreams">;

type Senders = ReadonlyMap<string, readonly Upstream[]>;

/** The names of those in which the turns that are lost like this do not fit beside those that are used. */
export function crowdedBudgets(config: Watched): ReadonlySet<string> {
  const byBudget = sendersByBudget(config.upstreams);
  const crowded = config.budgets.filter((budget) => isCrowded(budget, config, byBudget));
  return new Set(crowded.map(({ name }) => name));
}

function isCrowded(budget: Budget, config: Watched, byBudget: Senders): boolean {
  const senders = byBudget.get(budget.name) ?? [];
  const idle = senders.flatMap((upstream) => idleAsksOf(upstream, budget, config, byBudget));
  if (idle.length === 0) return false;
  const asks = [...asksOf(senders), ...idle];
  return !allServedInTime(asks, paceOf(leaseRatesOf(budget)));
}

/** A turn that stands idle counts as a part of one: the other budget's pace gap may be the shorter one. */
function idleAsksOf(upstream: Upstream, budget: Budget, config: Watched, byBudget: Senders): readonly Ask[] {
  if (upstream.budgets.length === 1) return [];
  const gapMs = gapOf(budget);
  const others = config.budgets.filter(
    ({ name }) => name !== budget.name && upstream.budgets.includes(name) && isShared(name, byBudget),
  );
  if (others.length === 0) return [];
  const part = Math.min(1, Math.max(...others.map(gapOf)) / gapMs);
  return asksOf([upstream]).map((ask) => ({ ...ask, count: ask.count * part }));
}

function gapOf(budget: Budget): number {
  return paceOf(leaseRatesOf(budget)).gapMs;
}

/** An upstream that has a budget for itself waits there for nobody. */
function isShared(budget: string, byBudget: Senders): boolean {
  return (byBudget.get(budget)?.length ?? 0) > 1;
}
