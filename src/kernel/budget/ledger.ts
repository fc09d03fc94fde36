/** The ledger decides who may send a request now. */

import type { Advice } from "../../features/hints/fields/advice.ts";
import type { Config } from "../config/config.ts";
import { type Exchange, wasSent } from "../exchange/exchange.ts";
import type { SkipCause } from "../exchange/outcome.ts";
import type { Whose, Why } from "../../features/hints/concern.ts";
import type { KnownLimit } from "../../features/hints/learned-windows.ts";
import type { Quotas } from "../../features/quota/quotas.ts";
import type { BudgetRecord } from "../../features/hints/record.ts";

export interface Ledger {
  /** What holds one of these budgets back holds back whoever draws on it. */
  restraint(budgets: readonly string[], mostCost?: number): BudgetRestraint;
  /** One of them allows less than the config says. */
  isLowered(budgets: readonly string[]): boolean;
  /** Grants a lease of each in one step, or of none. `mostCost`: in billionths, what the request may cost at most. */
  take(budgets: readonly string[], mostCost?: number): LeaseDecision | Promise<LeaseDecision>;
  /**
   * An upstream that draws on these says something about its limits. It can only tighten them. Returns for whose limit
   * it was taken, where it could have been that of several.
   */
  applyAdvice(budgets: readonly string[], advice: Advice): Whose | undefined;
  /** Calls back when a wait may have become shorter than announced. */
  onChange(listener: (budget: string) => void): void;
}

/** A ledger that follows the config and shows the state of its budgets. */
export interface RunningLedger extends Ledger {
  /** At once: whatever it asks of others, it has asked before. */
  take(budgets: readonly string[], mostCost?: number): LeaseDecision;
  /** What stands against such a lease now; undefined where `take` would grant it. */
  waitFor(budgets: readonly string[], mostCost?: number): Wait | undefined;
  state(budget: string): BudgetState | undefined;
  /** What this process sends is counted there, beside what others do who share a quota. */
  readonly quotas: Quotas;
  /** What must outlive this process; undefined for an unknown budget. */
  record(budget: string): BudgetRecord | undefined;
  /** Ends a pause and yielding, by the operator's word. Leases stay held. False for an unknown budget. */
  resume(budget: string): boolean;
  /**
   * A budget that stays keeps its leases. A new or renamed one waits until unknown earlier requests no longer count.
   */
  change(config: Config): void;
}

export type LeaseDecision =
  | { readonly kind: "granted"; readonly lease: Lease }
  /** Ask again at `untilMs` (monotonic), or when the ledger reports a change. */
  | Wait;

/** `budget`: the one that is waited for. */
export type Wait = {
  readonly kind: "wait";
  readonly untilMs: number;
  readonly cause: WaitCause;
  readonly budget: string;
};

export type WaitCause = Extract<SkipCause, "budget" | "backoff" | "yield" | "quota" | "ledger">;

export interface Lease {
  /**
   * Asked in the turn of the request's first byte: another process may lead by now. Then nothing must be written, and the
   * lease is settled as unsent.
   */
  isUsable(): boolean;
  settle(settlement: Settlement): void;
  /** What the request did cost takes the place of the most that it might, once its answer is read. */
  charge(cost: number): void;
}

/** In memory it is held until it is settled. Settling twice would free someone else's lease: the second time does nothing. */
export function leaseOf(
  onSettled: (settlement: Settlement) => void,
  onCharged: (cost: number) => void,
  isUsable: () => boolean,
): Lease {
  let [isOpen, isCharged] = [true, false];
  const charge = (cost: number): void => {
    if (isCharged) return;
    isCharged = true;
    onCharged(cost);
  };
  return {
    isUsable,
    settle: (settlement) => {
      if (!isOpen) return;
      isOpen = false;
      onSettled(settlement);
      if (settlement === "unsent") charge(0);
    },
    charge,
  };
}

const URGENCY: readonly WaitCause[] = ["backoff", "quota", "yield", "ledger", "budget"];

/** Whoever waits for several budgets at once waits for the latest moment, and is told the gravest cause. */
export function longestWait(each: readonly (Wait | undefined)[]): Wait | undefined {
  const waits = each.filter((wait) => wait !== undefined);
  if (waits.length < 2) return waits[0];
  const untilMs = Math.max(...waits.map((wait) => wait.untilMs));
  const rank = ({ cause }: Wait): number => URGENCY.indexOf(cause);
  const gravest = waits.reduce((a, b) =>
    rank(b) < rank(a) || (rank(b) === rank(a) && b.untilMs > a.untilMs) ? b : a,
  );
  return { ...gravest, untilMs };
}

/** The end of a leased request decides how long the lease is held. */
export type Settlement =
  /** No byte of it was written. */
  | "unsent"
  /** The upstream began to answer, so it has counted the request. */
  | "answered"
  /** Written, never answered, and the socket is closed now. */
  | "unanswered";

export function settlementOf(exchange: Exchange): Settlement {
  if (!wasSent(exchange)) return "unsent";
  return exchange.kind === "answered" || exchange.head !== undefined ? "answered" : "unanswered";
}

/** These may keep a budget's slot from being used at all. Times are monotonic. */
export type BudgetRestraint = {
  /** It lies in the past if nothing pauses the budget. */
  readonly pausedUntilMs: number;
  readonly isYielding: boolean;
  readonly isQuotaSpent: boolean;
  readonly paceGapMs: number;
  readonly maxPauseMs: number;
  readonly blindAfterMs: number;
};

/** An upstream that draws on all of these is held back by the strictest of each. */
export function strictest(restraints: readonly BudgetRestraint[]): BudgetRestraint {
  if (restraints.length === 0) throw new Error("cannot ask: an upstream must draw on a budget");
  return restraints.reduce((a, b) => ({
    pausedUntilMs: Math.max(a.pausedUntilMs, b.pausedUntilMs),
    isYielding: a.isYielding || b.isYielding,
    isQuotaSpent: a.isQuotaSpent || b.isQuotaSpent,
    paceGapMs: Math.max(a.paceGapMs, b.paceGapMs),
    maxPauseMs: Math.max(a.maxPauseMs, b.maxPauseMs),
    blindAfterMs: Math.min(a.blindAfterMs, b.blindAfterMs),
  }));
}

/** A budget is shown as it is at one moment. Times are monotonic. */
export type BudgetState = {
  readonly rates: readonly RateStatus[];
  readonly advertisedLimit: number | undefined;
  readonly advertisedRemaining: number | undefined;
  /** The upstream said this last of each of its limits, whatever they count. */
  readonly advertisedLimits: readonly KnownLimit[];
  /** It lies in the past if nothing pauses the budget. */
  readonly pausedUntilMs: number;
  /** Why the last refusal was taken for one of this budget, where it could have been another's. */
  readonly refusedWhy: Why | undefined;
};

/** `label`: as metrics name its window, `1s`, `1m`, `1h`. */
export type RateStatus = {
  readonly label: string;
  readonly limit: number;
  readonly cap: number;
  readonly leases: number;
};
