import type { Advice } from "../advice/advice.ts";
import { type Budget, capOf } from "../config/config.ts";
import { coldStartMs, forgottenAfterMs, Leases, type LeaseTerms, paceGapMs } from "./leases.ts";
import type { BudgetRestraint, BudgetStanding, Lease, LeaseDecision, Settlement } from "./ledger.ts";
import { type QuotaBuckets, QuotaCount } from "./quota.ts";
import { Restraint } from "./restraint.ts";

/** What a budget starts with: `first` of the process, or `added` by a reload. */
export type BudgetStart = {
  readonly kind: "first" | "added";
  /** How long after its sending a request of the unknown past may still be counted. */
  readonly uncountedMs: number;
  readonly quotaBuckets: QuotaBuckets | undefined;
  /** Budgets that were taken away with requests still on their way: perhaps with the same key. */
  readonly retiredBudgets: readonly BudgetLedger[];
};

function termsOf(budget: Budget): LeaseTerms {
  return {
    rates: budget.rates.map((rate) => ({ perMs: rate.perMs, cap: capOf(rate, budget.share) })),
    lingerMs: budget.lingerMs,
  };
}

/** One budget: its leases, what holds it back, and its quota. */
export class BudgetLedger {
  #budget: Budget;
  #terms: LeaseTerms;
  readonly #leases: Leases;
  readonly #restraint: Restraint;
  readonly #quota: QuotaCount;
  #retiredBudgets: readonly BudgetLedger[];

  constructor(budget: Budget, start: BudgetStart, nowMs: number) {
    this.#budget = budget;
    this.#terms = termsOf(budget);
    const limits = budget.rates.map((rate) => rate.requests);
    const coldMs =
      start.kind === "first"
        ? coldStartMs(this.#terms, limits, start.uncountedMs)
        : forgottenAfterMs(this.#terms, start.uncountedMs);
    this.#leases = new Leases(this.#terms, nowMs, coldMs);
    this.#restraint = new Restraint(budget);
    this.#quota = new QuotaCount(start.quotaBuckets);
    this.#retiredBudgets = start.retiredBudgets;
  }

  /** When the last of its requests was counted at the latest; infinite while one is on its way. */
  get countedByMs(): number {
    return this.#leases.countedByMs;
  }

  change(budget: Budget, uncountedMs: number, nowMs: number): void {
    const terms = termsOf(budget);
    this.#leases.change(terms, nowMs, forgottenAfterMs(terms, uncountedMs));
    this.#restraint.change(budget);
    this.#budget = budget;
    this.#terms = terms;
  }

  /** `calendarMs` names the hour for the quota; `settled` is called when the lease is. */
  take(nowMs: number, calendarMs: number, settled: (settlement: Settlement) => void): LeaseDecision {
    const pausedUntilMs = this.#restraint.pausedUntilMs;
    if (pausedUntilMs > nowMs) return { kind: "wait", untilMs: pausedUntilMs, cause: "backoff" };
    if (this.#isQuotaSpent(calendarMs)) {
      return { kind: "wait", untilMs: nowMs + this.#shortestWindowMs(), cause: "quota" };
    }
    const forgottenAtMs = this.#eldersForgottenAtMs(nowMs);
    if (forgottenAtMs > nowMs) return { kind: "wait", untilMs: forgottenAtMs, cause: "budget" };
    const decision = this.#leases.take(nowMs, this.#caps(nowMs));
    if (decision.kind === "wait") return { ...decision, cause: "budget" };
    this.#quota.add(calendarMs, 1);
    return { kind: "granted", lease: this.#leaseOf(calendarMs, settled) };
  }

  settle(settlement: Settlement, nowMs: number): void {
    this.#leases.settle(settlement, nowMs);
  }

  heed(advice: Advice, nowMs: number): void {
    this.#restraint.heed(advice, nowMs);
  }

  #isQuotaSpent(calendarMs: number): boolean {
    const quota = this.#budget.quota;
    return quota !== undefined && this.#quota.used(calendarMs, quota.perMs) >= quota.requests;
  }

  get quotaBuckets(): QuotaBuckets {
    return this.#quota.buckets;
  }

  standing(nowMs: number, calendarMs: number): BudgetStanding {
    const caps = this.#caps(nowMs);
    const { limit, remaining } = this.#restraint.advertised;
    const quota = this.#budget.quota;
    return {
      rates: this.#budget.rates.map((rate, index) => ({
        label: rate.label,
        limit: rate.requests,
        cap: caps[index] ?? 0,
        leases: this.#leases.heldIn(rate.perMs, nowMs),
      })),
      advertisedLimit: limit,
      advertisedRemaining: remaining,
      pausedUntilMs: this.#restraint.pausedUntilMs,
      quotaUsed: quota === undefined ? undefined : this.#quota.used(calendarMs, quota.perMs),
    };
  }

  restraint(nowMs: number, calendarMs: number): BudgetRestraint {
    return {
      pausedUntilMs: this.#restraint.pausedUntilMs,
      isYielding: this.#restraint.isYielding(nowMs),
      isQuotaSpent: this.#isQuotaSpent(calendarMs),
      paceGapMs: paceGapMs(this.#terms.rates),
      maxPauseMs: this.#budget.maxPauseMs,
    };
  }

  #caps(nowMs: number): number[] {
    return this.#budget.rates.map((rate, index) =>
      this.#restraint.capOf(rate, this.#terms.rates[index]?.cap ?? 0, nowMs),
    );
  }

  /** A lower bound while one of their requests is on its way: a process that stood still closes nothing in time. */
  #eldersForgottenAtMs(nowMs: number): number {
    if (this.#retiredBudgets.length === 0) return nowMs;
    const countedByMs = Math.max(...this.#retiredBudgets.map((elder) => elder.countedByMs));
    const fromMs = countedByMs === Infinity ? nowMs : countedByMs;
    const forgottenAtMs = fromMs + forgottenAfterMs(this.#terms, 0);
    if (forgottenAtMs <= nowMs) this.#retiredBudgets = [];
    return forgottenAtMs;
  }

  #shortestWindowMs(): number {
    return Math.min(...this.#budget.rates.map((rate) => rate.perMs));
  }

  /** Settling twice would free a lease that somebody else holds: the second time does nothing. */
  #leaseOf(calendarMs: number, settled: (settlement: Settlement) => void): Lease {
    let isOpen = true;
    return {
      // What is held here is held until it is settled, however long this process stands still.
      isUsable: () => true,
      settle: (settlement) => {
        if (!isOpen) return;
        isOpen = false;
        if (settlement === "unsent") this.#quota.add(calendarMs, -1);
        settled(settlement);
      },
    };
  }
}
