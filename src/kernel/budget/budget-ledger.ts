import type { Advice } from "../../features/hints/fields/advice.ts";
import type { Budget, Rate } from "../config/config.ts";
import { capOf, partName } from "../config/part.ts";
import type { Concern, Why } from "../../features/hints/concern.ts";
import { coldStartOfBudget, forgottenAfterMs, leaseRatesOf, Leases, type LeaseTerms } from "./leases.ts";
import type { BudgetRestraint, BudgetState, Settlement, Wait } from "./ledger.ts";
import type { Quotas } from "../../features/quota/quotas.ts";
import type { Held } from "../../features/hints/record.ts";
import { Restraint } from "../../features/hints/restraint.ts";
import { longestRateOf, type Needs } from "../../features/hints/signals.ts";
import { tellsLimit, UntoldLimit } from "../../features/hints/untold-limit.ts";

/** A budget starts with the process (`first`), or is `added` by a reload. */
export type BudgetStart = {
  readonly kind: "first" | "added";
  /** Where others led before, this is known by what they left. Monotonic. */
  readonly startsAtMs?: number | undefined;
  /** The process before this one had the same part of it. */
  readonly isSamePart: boolean;
  /** An unknown earlier request may still be counted for so long after it was sent. */
  readonly uncountedMs: number;
  readonly quotas: Quotas;
  /** The schedules need so much of each rate. */
  readonly needs: Needs;
  /** These were removed, and still have requests in flight, perhaps with the same key. */
  readonly retiredBudgets: readonly BudgetLedger[];
};

/** It is polled by none yet. */
const NO_PART = "";

/** One request of this budget: each is to be called once. */
type Grant = {
  settle(settlement: Settlement, nowMs: number): void;
  charge(cost: number): void;
};

function termsOf(budget: Budget): LeaseTerms {
  return { rates: leaseRatesOf(budget), lingerMs: budget.lingerMs };
}

function coldMsOf(
  budget: Budget,
  terms: LeaseTerms,
  { kind, startsAtMs, isSamePart, uncountedMs }: BudgetStart,
  nowMs: number,
): number {
  if (startsAtMs !== undefined) return Math.max(0, startsAtMs - nowMs);
  if (kind === "added" || !isSamePart) return forgottenAfterMs(terms, uncountedMs);
  return coldStartOfBudget(budget, uncountedMs).coldMs;
}

/** One budget has its leases, what holds it back, and its quota. */
export class BudgetLedger {
  readonly leases: Leases;
  readonly #restraint: Restraint;
  readonly #untold: UntoldLimit = new UntoldLimit();
  readonly #quotas: Quotas;
  #isSamePart: boolean;
  #retiredBudgets: readonly BudgetLedger[];
  #refusedWhy: Why | undefined;
  /** By the more specific budget for whose limit the refusal was taken. Most budgets have no such parts. */
  #partsRefusedAtMs: Map<string, number> | undefined;

  constructor(budget: Budget, start: BudgetStart, nowMs: number) {
    const terms = termsOf(budget);
    this.leases = new Leases(terms, nowMs, coldMsOf(budget, terms, start, nowMs));
    this.#restraint = new Restraint(budget, start.needs);
    this.#quotas = start.quotas;
    this.#isSamePart = start.isSamePart;
    this.#retiredBudgets = start.retiredBudgets;
  }

  change(budget: Budget, needs: Needs, uncountedMs: number, nowMs: number): void {
    const terms = termsOf(budget);
    const isOtherPart = partName(budget) !== partName(this.budget);
    if (isOtherPart) this.#isSamePart = false;
    this.leases.change(terms, nowMs, forgottenAfterMs(terms, uncountedMs), isOtherPart);
    this.#restraint.change(budget, needs);
  }

  get budget(): Budget {
    return this.#restraint.budget;
  }

  /** Tells what stands against a lease now; undefined if `grant` may follow at once. */
  waitFor(nowMs: number, mostCost: number): Wait | undefined {
    const budget = this.budget.name;
    const pausedUntilMs = this.#restraint.pausedUntilMs;
    if (pausedUntilMs > nowMs) return { kind: "wait", untilMs: pausedUntilMs, cause: "backoff", budget };
    if (this.#isSpent(mostCost)) {
      const shortestMs = Math.min(...this.budget.rates.map((rate) => rate.perMs));
      return { kind: "wait", untilMs: nowMs + shortestMs, cause: "quota", budget };
    }
    const usedUpUntilMs = this.usedUpUntilMs(nowMs);
    if (usedUpUntilMs > nowMs) return { kind: "wait", untilMs: usedUpUntilMs, cause: "budget", budget };
    const caps = this.budget.rates.map((rate) => this.#capOf(rate, nowMs));
    const forgottenAtMs = this.#retiredForgottenAtMs(nowMs);
    const untilMs = forgottenAtMs > nowMs ? forgottenAtMs : this.leases.freeAtMs(nowMs, caps);
    return untilMs > nowMs ? { kind: "wait", untilMs, cause: "budget", budget } : undefined;
  }

  /** What the upstream said were left is on its way, until this moment or its next word. */
  usedUpUntilMs(nowMs: number): number {
    return this.#restraint.usedUpUntilMs(nowMs);
  }

  grant(nowMs: number, mostCost: number): Grant {
    this.leases.grant(nowMs);
    this.#restraint.sent(1);
    const { name } = this.budget;
    const requests = this.#quotas.of(name, "requests");
    const request = requests.send(1);
    const reserved = mostCost > 0 ? this.#quotas.of(name, "money").send(mostCost) : undefined;
    return {
      settle: (settlement, settledMs) => {
        requests.end(request, settlement === "unsent" ? 0 : 1);
        this.leases.settle(settlement, settledMs);
        if (settlement === "unsent") this.#restraint.sent(-1);
      },
      charge: (cost) => {
        // Nothing was reserved where by its price it was to cost nothing.
        if (reserved !== undefined || cost > 0) this.#quotas.of(name, "money").end(reserved, cost);
      },
    };
  }

  /** The upstream draws on no other budget, so it can only be this one's limit that a refusal is about. */
  applyAdvice(advice: Advice, nowMs: number): void {
    const isPaused = nowMs < this.#restraint.pausedUntilMs;
    const cap = this.#capOf(longestRateOf(this.budget), nowMs);
    this.#restraint.applyAdvice(advice, nowMs, this.leases.inFlight);
    if (advice.throttled) {
      this.#refusedWhy = undefined;
      if (tellsLimit(advice, this.#restraint.limits)) return;
    }
    this.#untold.heard(advice, this.#restraint, cap, isPaused, nowMs);
  }

  /** The upstream draws on others too. So nothing is learned of a limit that it does not tell. */
  applyConcern({ heard, held }: Concern, nowMs: number): void {
    const { name } = this.budget;
    const advice = heard.get(name);
    if (held.has(name)) this.#refusedWhy = held.get(name);
    if (advice !== undefined) this.#restraint.applyAdvice(advice, nowMs, this.leases.inFlight);
  }

  /** A part of it is refused: whether another part was, within its longest window. */
  isRefusedElsewhere(part: string, nowMs: number): boolean {
    const refusedAtMs = (this.#partsRefusedAtMs ??= new Map());
    const fromMs = nowMs - longestRateOf(this.budget).perMs;
    for (const [name, atMs] of refusedAtMs) if (atMs < fromMs) refusedAtMs.delete(name);
    refusedAtMs.set(part, nowMs);
    return refusedAtMs.size > 1;
  }

  resume(): void {
    this.#restraint.resume();
  }

  get held(): Held {
    // Until it sends by this part, the next process has to wait as this one does.
    const isKnown = this.#isSamePart || this.leases.hasBegun;
    return {
      ...this.#restraint.held,
      untold: this.#untold.held(this.budget.maxPauseMs),
      part: isKnown ? partName(this.budget) : NO_PART,
    };
  }

  adopt(held: Held): void {
    this.#restraint.adopt(held);
    if (held.untold !== undefined) this.#untold.adopt(held.untold, this.budget.maxPauseMs);
  }

  state(nowMs: number): BudgetState {
    const { limit, remaining } = this.#restraint.advertised;
    return {
      rates: this.budget.rates.map((rate) => ({
        label: rate.label,
        limit: rate.requests,
        cap: this.#capOf(rate, nowMs),
        leases: this.leases.heldIn(rate.perMs, nowMs),
      })),
      advertisedLimit: limit,
      advertisedRemaining: remaining,
      advertisedLimits: [...this.#restraint.limits, ...this.#untold.known],
      pausedUntilMs: this.#restraint.pausedUntilMs,
      refusedWhy: this.#refusedWhy,
    };
  }

  restraint(nowMs: number, mostCost: number): BudgetRestraint {
    return {
      pausedUntilMs: this.#restraint.pausedUntilMs,
      isYielding: this.#restraint.isYielding(nowMs),
      isQuotaSpent: this.#isSpent(mostCost),
      paceGapMs: this.leases.gapMs,
      maxPauseMs: this.budget.maxPauseMs,
      blindAfterMs: this.budget.blindAfterMs,
    };
  }

  isLowered(nowMs: number): boolean {
    return this.budget.rates.some((rate) => this.#capOf(rate, nowMs) < capOf(rate.requests, this.budget));
  }

  #isSpent(mostCost: number): boolean {
    return !this.#quotas.hasRoomFor(this.budget.name, mostCost);
  }

  #capOf(rate: Rate, nowMs: number): number {
    const configured = capOf(rate.requests, this.budget);
    const lowered = this.#restraint.capOf(rate, configured, nowMs);
    return this.#untold.capOf(rate, lowered, this.budget, nowMs);
  }

  /**
   * It is a lower bound while one of their requests is in flight: a process that was stopped does not close it in time.
   */
  #retiredForgottenAtMs(nowMs: number): number {
    if (this.#retiredBudgets.length === 0) return nowMs;
    const countedByMs = Math.max(...this.#retiredBudgets.map((budget) => budget.leases.countedByMs));
    const fromMs = countedByMs === Infinity ? nowMs : countedByMs;
    const forgottenAtMs = fromMs + forgottenAfterMs(this.leases.terms, 0);
    if (forgottenAtMs <= nowMs) this.#retiredBudgets = [];
    return forgottenAtMs;
  }
}
