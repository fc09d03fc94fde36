/** The ledger: who may send a request now. One process keeps it in memory, a fleet keeps it in Redis. */

import type { Advice } from "../advice/advice.ts";
import type { Config } from "../config/config.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { SkipCause } from "../exchange/outcome.ts";
import type { KnownLimit, LearnedWindow } from "./learned-windows.ts";
import type { QuotaBuckets } from "./quota.ts";

export interface Ledger {
  restraint(budget: string): BudgetRestraint;
  take(budget: string): LeaseDecision | Promise<LeaseDecision>;
  /** What the upstream says about its limits. It can only tighten them. */
  applyAdvice(budget: string, advice: Advice): void;
  /** Calls back when a wait may have become shorter than announced. */
  onChange(listener: (budget: string) => void): void;
}

/** A ledger that follows the config and shows the state of its budgets. */
export interface RunningLedger extends Ledger {
  state(budget: string): BudgetState | undefined;
  /** Requests that this process sent, by hour. */
  quotaBuckets(budget: string): QuotaBuckets | undefined;
  /** Of limits that do not say theirs. */
  learnedWindows(budget: string): readonly LearnedWindow[] | undefined;
  /** Ends a pause and yielding, by the operator's word. Leases stay held. False for an unknown budget. */
  resume(budget: string): boolean;
  /** A budget that stays keeps its leases. A new or renamed one waits until unknown earlier requests no longer count. */
  change(config: Config): void;
}

export type LeaseDecision =
  | { readonly kind: "granted"; readonly lease: Lease }
  /** Ask again at `untilMs` (monotonic), or when the ledger reports a change. */
  | { readonly kind: "wait"; readonly untilMs: number; readonly cause: WaitCause };

export type WaitCause = Extract<SkipCause, "budget" | "backoff" | "yield" | "quota" | "ledger">;

export interface Lease {
  /**
   * Asked just before the request is written: a process that was stopped meanwhile may hold a lease that others no
   * longer count. Then nothing must be written, and the lease is settled as unsent.
   */
  isUsable(): boolean;
  settle(settlement: Settlement): void;
}

/** Settling twice would free someone else's lease, so the second time does nothing. */
export function leaseOf(isUsable: () => boolean, onSettled: (settlement: Settlement) => void): Lease {
  let isOpen = true;
  return {
    isUsable,
    settle: (settlement) => {
      if (!isOpen) return;
      isOpen = false;
      onSettled(settlement);
    },
  };
}

/** What became of a leased request. It decides how long the lease is held. */
export type Settlement =
  /** No byte of it was written. */
  | "unsent"
  /** The upstream began to answer, so it has counted the request. */
  | "answered"
  /** Written, never answered, and the socket is closed now. */
  | "unanswered";

export function settlementOf(exchange: Exchange): Settlement {
  if (exchange.kind === "answered" || exchange.head !== undefined) return "answered";
  return exchange.sent ? "unanswered" : "unsent";
}

/** What may keep a budget's slot from being used at all. Monotonic times. */
export type BudgetRestraint = {
  /** In the past if nothing pauses it. */
  readonly pausedUntilMs: number;
  readonly isYielding: boolean;
  readonly isQuotaSpent: boolean;
  readonly paceGapMs: number;
  readonly maxPauseMs: number;
};

/** A budget at one moment. Monotonic times. */
export type BudgetState = {
  readonly rates: readonly RateStatus[];
  readonly advertisedLimit: number | undefined;
  readonly advertisedRemaining: number | undefined;
  /** What the upstream last said of each of its limits, whatever they count. */
  readonly advertisedLimits: readonly KnownLimit[];
  /** In the past if nothing pauses it. */
  readonly pausedUntilMs: number;
  readonly quotaUsed: number | undefined;
};

export type RateStatus = {
  readonly label: string;
  readonly limit: number;
  readonly cap: number;
  readonly leases: number;
};
