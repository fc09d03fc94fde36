/** The seams of the house: small enough to fake by hand. */

import type { Advice } from "./advice.ts";
import type { Observation } from "./exchange.ts";
import type { HealthChange } from "./health.ts";
import type { Poll } from "./poll.ts";
import type { Config } from "./config.ts";
import type { BudgetStanding } from "./budget-standing.ts";
import type { QuotaBuckets } from "./quota.ts";
import type { Orders } from "./orders.ts";
import type { SkipCause } from "./outcome.ts";
import type {
  SharedContribution,
  SharedSettlement,
  SharedStanding,
  SharedTaking,
  SharedTerms,
} from "./shared-terms.ts";

export interface Clock {
  /** Monotonic milliseconds: never steps, and keeps counting while the process is stopped. */
  now(): number;
  /** Milliseconds since the epoch: for schedules and display, never for budgets. */
  wallNow(): number;
  /** Resolves after `delayMs`, or at once when the signal aborts: look at the signal to tell which. */
  sleep(delayMs: number, signal: AbortSignal): Promise<void>;
}

export interface Probe {
  /**
   * Sends one request. Never rejects for anything that an upstream does, and resolves only when a broken
   * exchange's socket is really closed: a lease is settled by that moment. `mayWrite` is asked at once before the
   * request is written; where it says no, the poll ends with nothing sent.
   */
  poll(signal: AbortSignal, mayWrite?: () => boolean): Promise<Observation>;
  close(): Promise<void>;
}

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

/** What a shared store answers. Where it is away, what was asked may have been done all the same. */
export type Stored<Answer> =
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "away" };

/** The budgets that several replicas share, in a place that each of them may lose at any time. Never rejects. */
export interface LedgerStore {
  take(terms: SharedTerms, lease: string): Promise<Stored<SharedTaking>>;
  /** `agoMs`: how long ago that was. */
  settle(terms: SharedTerms, settled: SharedSettlement, agoMs: number): Promise<Stored<SharedStanding>>;
  heed(terms: SharedTerms, orders: Orders, agoMs: number): Promise<Stored<SharedStanding>>;
  /** How it stands. `isAnew`: the clock there was stepped, so that what it knows is worth nothing. */
  look(terms: SharedTerms, isAnew: boolean): Promise<Stored<SharedStanding>>;
  /** What a replica has sent by itself, by hour: counted once for each `batch`. */
  contribute(terms: SharedTerms, contribution: SharedContribution): Promise<Stored<SharedStanding>>;
  /** One of `seats`, for `forMs`; the same again where this owner has one. Undefined where none is free. */
  sit(seats: number, owner: string, forMs: number): Promise<Stored<number | undefined>>;
  /** Gives the seat back. */
  rise(owner: string): Promise<Stored<undefined>>;
  /** Hears that it may be there again. */
  onBack(listener: () => void): void;
}

/** Hears everything that happens to one upstream. Metrics, history and log each are one. */
export interface Recorder {
  slotWaiting(): void;
  /** A waiting slot got its lease: a slot always waits first, if only for an instant. */
  slotStarted(): void;
  /** Slots that never waited. */
  slotSkipped(cause: SkipCause, count: number): void;
  /** A waiting slot ends as skipped. */
  slotGaveUp(cause: SkipCause): void;
  polled(poll: Poll): void;
  /** Follows the `polled` that caused it, if one did. */
  healthChanged(change: HealthChange): void;
}

/** One trigger for each distinct cron expression. */
export interface Triggers {
  start(expression: string, onTick: (scheduledAtMs: number) => void): Trigger;
}

export interface Trigger {
  /** Plans the next tick anew from the wall clock as it is now. */
  replan(): void;
  stop(): void;
}
