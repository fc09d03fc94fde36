import { type LeaseDecision, leaseOfAll, longestWait, type Wait } from "../../core/budget/ledger.ts";
import type { LedgerStore } from "../../core/fleet/ledger-store.ts";
import type { Clock } from "../../core/time/clock.ts";
import { momentOf } from "../../core/time/moment.ts";
import type { SharedBudget } from "./shared-budget.ts";

type Parts = {
  readonly clock: Clock;
  readonly store: LedgerStore;
  /** Unique among all replicas and all time. */
  readonly nextLease: () => string;
};

/**
 * A lease of each budget, or of none: all from Redis in one step or, where one of them cannot be had there, all from
 * this replica's reserves, which are its own also while Redis is reachable.
 */
export async function takeLeases(budgets: readonly SharedBudget[], parts: Parts): Promise<LeaseDecision> {
  const decision = await take(budgets, parts);
  for (const budget of budgets) budget.decided(decision.kind === "wait" ? decision.untilMs : undefined);
  return decision;
}

async function take(budgets: readonly SharedBudget[], parts: Parts): Promise<LeaseDecision> {
  if (!budgets.every((budget) => budget.isShared)) return takeReserves(budgets);
  return heldBack(budgets) ?? (await takeShared(budgets, parts));
}

async function takeShared(budgets: readonly SharedBudget[], parts: Parts): Promise<LeaseDecision> {
  const { clock, store, nextLease } = parts;
  const terms = budgets.map((budget) => budget.terms);
  const asked = momentOf(clock);
  const name = nextLease();
  // First: what is told may free what is asked for here.
  for (const { sync } of budgets) void sync.send();
  const stored = await store.take(terms, name);
  if (stored.kind === "away") {
    for (const { sync } of budgets) sync.unanswered(name, asked.nowMs);
    return takeReserves(budgets);
  }
  const { states, waits } = stored.answer;
  const answered = budgets.flatMap((budget, index) => {
    const state = states[index];
    return state === undefined ? [] : [{ budget, state, ...budget.sync.answered(state, asked) }];
  });
  const isTrusted = answered.every((each) => each.isTrusted);
  if (waits.some(({ cause }) => cause === "ledger")) return takeReserves(budgets);
  const wait = longestWait(
    waits.map(({ budget, waitMs, cause }) => ({
      kind: "wait",
      untilMs: clock.now() + waitMs,
      cause,
      budget,
    })),
  );
  if (wait !== undefined) {
    for (const budget of budgets) budget.askedInVain();
    return wait;
  }
  const lease = leaseOfAll(answered.map(({ budget, state }) => budget.sharedLease(name, asked, state)));
  // Redis did not know of a pause that another poll of this replica heard of meanwhile, nor of a new config.
  const isCurrent = budgets.every((budget, index) => budget.terms === terms[index] && !budget.isPaused);
  if (isTrusted && isCurrent) return { kind: "granted", lease };
  lease.settle("unsent");
  return isTrusted ? await take(budgets, parts) : takeReserves(budgets);
}

function takeReserves(budgets: readonly SharedBudget[]): LeaseDecision {
  const wait = heldBack(budgets) ?? longestWait(budgets.map((budget) => budget.reserveWait()));
  if (wait !== undefined) return wait;
  return { kind: "granted", lease: leaseOfAll(budgets.map((budget) => budget.reserveLease())) };
}

function heldBack(budgets: readonly SharedBudget[]): Wait | undefined {
  return longestWait(budgets.map((budget) => budget.heldBack()));
}
