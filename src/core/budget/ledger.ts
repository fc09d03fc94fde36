/** The seams of the house: small enough to fake by hand. */

import type { Advice } from "../advice/advice.ts";
import type { Config } from "../config/config.ts";
import type { QuotaBuckets } from "./quota.ts";
import type { SkipCause } from "../exchange/outcome.ts";

/** What became of a leased request: it decides how long the lease must still be held. */
export type Settlement =
  /** No byte of it was written. */
  | "unsent"
  /** The upstream began to answer: so it has counted it. */
  | "answered"
  /** Written, never answered, and the socket is closed now. */
  | "unanswered";

export interface Lease {
  /**
   * Asked at once before the request is written: a process that was stopped meanwhile may hold a lease that others
   * count no more. Then nothing is to be written, and the lease ends as unsent.
   */
  isUsable(): boolean;
  settle(settlement: Settlement): void;
}

export type LeaseDecision =
  | { readonly kind: "granted"; readonly lease: Lease }
  /** Not before `untilMs` (monotonic): ask again then, or when the ledger says that something changed. */
  | { readonly kind: "wait"; readonly untilMs: number; readonly cause: WaitCause };

export type WaitCause = Extract<SkipCause, "budget" | "backoff" | "yield" | "quota" | "ledger">;

/** What may keep a slot of a budget from being used at all. Monotonic times. */
export type BudgetRestraint = {
  /** In the past where nothing pauses it. */
  readonly pausedUntilMs: number;
  readonly isYielding: boolean;
  readonly isQuotaSpent: boolean;
  readonly paceGapMs: number;
  readonly maxPauseMs: number;
};

export interface Ledger {
  restraint(budget: string): BudgetRestraint;
  take(budget: string): LeaseDecision | Promise<LeaseDecision>;
  /** Upstream signals; they can only tighten. */
  heed(budget: string, advice: Advice): void;
  /** Calls back whenever a wait may have become shorter than it was said to be. */
  onChange(listener: (budget: string) => void): void;
}

/** A ledger that follows the config, and shows how its budgets stand. */
export interface RunningLedger extends Ledger {
  standing(budget: string): BudgetStanding | undefined;
  /** What this process sent, by hour. */
  quotaBuckets(budget: string): QuotaBuckets | undefined;
  /** What stays keeps its leases; what is added or renamed waits until the unknown past is forgotten. */
  change(config: Config): void;
}

export type RateStatus = {
  readonly label: string;
  readonly limit: number;
  readonly cap: number;
  readonly leases: number;
};

/** How a budget stands at one moment. Monotonic times. */
export type BudgetStanding = {
  readonly rates: readonly RateStatus[];
  readonly advertisedLimit: number | undefined;
  readonly advertisedRemaining: number | undefined;
  /** In the past where nothing pauses it. */
  readonly pausedUntilMs: number;
  readonly quotaUsed: number | undefined;
};
