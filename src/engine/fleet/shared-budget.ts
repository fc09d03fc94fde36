import type { Advice } from "../../core/advice/advice.ts";
import type {
  BudgetRestraint,
  BudgetStanding,
  Lease,
  LeaseDecision,
  Settlement,
} from "../../core/budget/ledger.ts";
import type { LedgerStore } from "../../core/fleet/ledger-store.ts";
import type { Clock } from "../../core/time/clock.ts";
import { type Budget, capOf, type Fleet } from "../../core/config/config.ts";
import { sharedTermsOf, usableForMs } from "../../core/fleet/shares.ts";
import { RedisClock } from "../../core/fleet/redis-clock.ts";
import { paceGapMs } from "../../core/budget/leases.ts";
import { ordersOf } from "../../core/budget/orders.ts";
import type { QuotaBuckets } from "../../core/budget/quota.ts";
import { Restraint } from "../../core/budget/restraint.ts";
import type { SharedStanding, SharedTaking, SharedTerms } from "../../core/fleet/shared-terms.ts";
import { FleetOutbox } from "./outbox.ts";
import { FleetQuota } from "./shared-quota.ts";
import { FleetReserve } from "./reserve.ts";
import type { FleetSeat } from "./seat.ts";

export type FleetBudgetParts = {
  readonly fleet: Fleet;
  readonly store: LedgerStore;
  readonly clock: Clock;
  readonly seat: FleetSeat;
  /** Never given twice, by nobody. */
  readonly nextLease: () => string;
  readonly calendarMs: () => number;
  /** A wait may have become shorter than it was said to be. */
  readonly onChange: () => void;
  readonly quotaBuckets: QuotaBuckets | undefined;
  readonly life: string;
};

/** While it cannot be reached, or refuses for long, it is asked again after so long. */
const ASK_AGAIN_MS = 1_000;
/** So that every tick finds it due, even one that comes a little early. */
const SOON_MS = 0.9 * ASK_AGAIN_MS;
/** What is not used is looked at now and then. */
const LOOK_EVERY_MS = 10_000;
const LOOK_UNUSED_EVERY_MS = 60_000;

/** One budget of a fleet: what all share while they can, and this replica's own reserve while they cannot. */
export class FleetBudget {
  readonly #parts: FleetBudgetParts;
  #budget: Budget;
  #timeoutMs: number;
  #terms: SharedTerms;
  readonly #reserve: FleetReserve;
  readonly #restraint: Restraint;
  readonly #quota: FleetQuota;
  readonly #outbox: FleetOutbox;
  readonly #mirror = new SharedBudgetView();
  readonly #keeperClock = new RedisClock();
  #isAway = false;
  #isLooking = false;
  #isTelling = false;
  #usedMs: number;
  /** Until when somebody was told to wait. */
  #waitsUntilMs = Number.NEGATIVE_INFINITY;

  constructor(budget: Budget, timeoutMs: number, parts: FleetBudgetParts) {
    this.#parts = parts;
    this.#budget = budget;
    this.#timeoutMs = timeoutMs;
    this.#terms = sharedTermsOf(budget, parts.fleet, timeoutMs);
    this.#reserve = new FleetReserve(budget, parts.fleet, timeoutMs + budget.lingerMs);
    this.#restraint = new Restraint(budget);
    this.#quota = new FleetQuota(parts.quotaBuckets, parts.life);
    this.#outbox = new FleetOutbox(parts.store);
    this.#usedMs = parts.clock.now();
    if (parts.seat.isUsable) this.seated();
  }

  get quotaBuckets(): QuotaBuckets {
    return this.#quota.buckets;
  }

  /** A timeout of this life never counts as shorter again. */
  change(budget: Budget, timeoutMs: number): void {
    this.#budget = budget;
    this.#timeoutMs = Math.max(this.#timeoutMs, timeoutMs);
    this.#terms = sharedTermsOf(budget, this.#parts.fleet, this.#timeoutMs);
    this.#reserve.change(budget, this.#timeoutMs + budget.lingerMs, this.#parts.clock.now());
    this.#restraint.change(budget);
  }

  seated(): void {
    this.#reserve.open(this.#parts.clock.now());
    this.#parts.onChange();
  }

  async take(): Promise<LeaseDecision> {
    const decision = await this.#take();
    this.#waitsUntilMs = decision.kind === "wait" ? decision.untilMs : Number.NEGATIVE_INFINITY;
    return decision;
  }

  heed(advice: Advice): void {
    const nowMs = this.#parts.clock.now();
    this.#restraint.heed(advice, nowMs);
    this.#outbox.ordered(ordersOf(advice, this.#budget), nowMs);
    if (!this.#isAway) void this.#sendOutbox();
  }

  restraint(): BudgetRestraint {
    const nowMs = this.#parts.clock.now();
    return {
      pausedUntilMs: this.#pausedUntilMs,
      isYielding: this.#isAway ? this.#restraint.isYielding(nowMs) : this.#mirror.isYielding(nowMs),
      isQuotaSpent: this.#isQuotaSpent(),
      paceGapMs: paceGapMs(this.#terms.rates),
      maxPauseMs: this.#budget.maxPauseMs,
    };
  }

  standing(): BudgetStanding {
    const nowMs = this.#parts.clock.now();
    const there = this.#isAway ? undefined : this.#mirror.standing;
    const own = this.#isAway ? this.#reserve.caps(this.#restraint, nowMs) : [];
    const { limit, remaining } = this.#restraint.advertised;
    const { quota } = this.#budget;
    return {
      rates: this.#budget.rates.map((rate, index) => ({
        label: rate.label,
        limit: rate.requests,
        cap: there?.caps[index] ?? own[index] ?? capOf(rate, this.#budget.share),
        leases: there?.leases[index] ?? this.#reserve.heldIn(rate.perMs, nowMs),
      })),
      advertisedLimit: there?.advertisedLimit ?? limit,
      advertisedRemaining: there?.advertisedRemaining ?? remaining,
      pausedUntilMs: this.#pausedUntilMs,
      quotaUsed: quota === undefined ? undefined : this.#quotaUsed(quota.perMs),
    };
  }

  /** About once a second, and when the store is back. */
  async tick(): Promise<void> {
    const nowMs = this.#parts.clock.now();
    const isWaitedFor = nowMs < this.#waitsUntilMs;
    const isUsed = nowMs - this.#usedMs < LOOK_UNUSED_EVERY_MS;
    const everyMs = this.#isAway || isWaitedFor ? SOON_MS : isUsed ? LOOK_EVERY_MS : LOOK_UNUSED_EVERY_MS;
    if (!this.#isLooking && nowMs - this.#mirror.heardMs >= everyMs) await this.#look(false);
  }

  /** Tells what is still to be told. */
  async end(): Promise<void> {
    if (!this.#isAway) await this.#sendOutbox();
  }

  get #pausedUntilMs(): number {
    return Math.max(this.#restraint.pausedUntilMs, this.#mirror.pausedUntilMs);
  }

  #quotaUsed(perMs: number): number {
    return this.#quota.used(this.#parts.calendarMs(), perMs, this.#mirror.standing);
  }

  #isQuotaSpent(): boolean {
    const { quota } = this.#budget;
    return quota !== undefined && this.#quotaUsed(quota.perMs) >= quota.requests;
  }

  async #take(): Promise<LeaseDecision> {
    const askedMs = this.#parts.clock.now();
    this.#usedMs = askedMs;
    if (this.#pausedUntilMs > askedMs) {
      return { kind: "wait", untilMs: this.#pausedUntilMs, cause: "backoff" };
    }
    if (this.#isQuotaSpent()) {
      const shortestMs = Math.min(...this.#budget.rates.map((rate) => rate.perMs));
      return { kind: "wait", untilMs: askedMs + shortestMs, cause: "quota" };
    }
    if (this.#isAway || askedMs < this.#mirror.coldUntilMs) return this.#takeReserve();
    const terms = this.#terms;
    const name = this.#parts.nextLease();
    const stored = await this.#parts.store.take(terms, name);
    const nowMs = this.#parts.clock.now();
    if (stored.kind === "away") {
      // It may have been granted all the same.
      this.#outbox.settled({ lease: name, settlement: "unsent", heldMs: nowMs - askedMs }, nowMs);
      this.#lose();
      return this.#takeReserve();
    }
    const { answer } = stored;
    const isTrusted = this.#hear(answer, askedMs, nowMs);
    if (answer.decision.kind === "wait") return this.#refusal(answer.decision, nowMs);
    const lease = this.#leaseOf(name, askedMs, answer);
    if (isTrusted && terms === this.#terms) return { kind: "granted", lease };
    lease.settle("unsent");
    return isTrusted ? this.#take() : this.#takeReserve();
  }

  #refusal(
    { waitMs, cause }: Extract<SharedTaking["decision"], { readonly kind: "wait" }>,
    nowMs: number,
  ): LeaseDecision {
    return cause === "ledger" ? this.#takeReserve() : { kind: "wait", untilMs: nowMs + waitMs, cause };
  }

  #takeReserve(): LeaseDecision {
    const nowMs = this.#parts.clock.now();
    const decision = this.#parts.seat.isUsable
      ? this.#reserve.take(this.#restraint, nowMs)
      : { kind: "refused" as const, untilMs: undefined };
    if (decision.kind === "refused") {
      // Until the others can be asked again: that they are back is told, that they know everything is not.
      const askAgainMs = this.#isAway ? Infinity : Math.max(this.#mirror.coldUntilMs, nowMs + ASK_AGAIN_MS);
      const untilMs = Math.min(decision.untilMs ?? nowMs + ASK_AGAIN_MS, askAgainMs);
      return { kind: "wait", untilMs, cause: "ledger" };
    }
    const calendarMs = this.#parts.calendarMs();
    this.#quota.sent(calendarMs, 1, undefined);
    const lease = once((settlement) => {
      decision.settle(settlement, this.#parts.clock.now());
      if (settlement !== "unsent") return;
      this.#quota.sent(calendarMs, -1, undefined);
      this.#parts.onChange();
    });
    return { kind: "granted", lease: { ...lease, isUsable: () => this.#parts.seat.isUsable } };
  }

  #leaseOf(name: string, askedMs: number, answer: SharedStanding): Lease {
    const { clock } = this.#parts;
    const calendarMs = this.#parts.calendarMs();
    const usableUntilMs = askedMs + usableForMs(this.#timeoutMs);
    this.#quota.sent(calendarMs, 1, answer);
    const lease = once((settlement) => {
      const nowMs = clock.now();
      if (settlement === "unsent") this.#quota.sent(calendarMs, -1, answer);
      this.#outbox.settled({ lease: name, settlement, heldMs: nowMs - askedMs }, nowMs);
      if (!this.#isAway) void this.#sendOutbox();
    });
    return { ...lease, isUsable: () => clock.now() < usableUntilMs };
  }

  async #sendOutbox(): Promise<void> {
    const askedMs = this.#parts.clock.now();
    const stored = await this.#outbox.send(this.#terms, askedMs);
    if (stored === undefined) return;
    if (stored.kind === "away") this.#lose();
    else this.#hear(stored.answer, askedMs, this.#parts.clock.now());
  }

  async #look(isAnew: boolean): Promise<void> {
    this.#isLooking = true;
    const askedMs = this.#parts.clock.now();
    const stored = await this.#parts.store.look(this.#terms, isAnew);
    this.#isLooking = false;
    if (stored.kind === "away") return this.#lose();
    this.#hear(stored.answer, askedMs, this.#parts.clock.now());
    if (!this.#outbox.isEmpty) await this.#sendOutbox();
  }

  #lose(): void {
    if (this.#isAway) return;
    this.#isAway = true;
    this.#parts.onChange();
  }

  /** Whether what it answered is worth anything: not after its clock was set forward. */
  #hear(answer: SharedStanding, askedMs: number, nowMs: number): boolean {
    const [run = ""] = answer.epoch.split("-");
    const hasStepped = this.#keeperClock.hasStepped(answer.nowMs, run, askedMs, nowMs);
    const wasAway = this.#isAway;
    this.#isAway = false;
    const hasChanged = this.#mirror.hear(answer, nowMs);
    if (hasStepped) void this.#look(true);
    if (this.#budget.quota !== undefined) void this.#reportUsage(answer);
    if (wasAway || hasChanged) this.#parts.onChange();
    return !hasStepped;
  }

  async #reportUsage(answer: SharedStanding): Promise<void> {
    if (this.#isTelling) return;
    const contribution = this.#quota.pending(answer);
    if (contribution === undefined) return;
    this.#isTelling = true;
    const askedMs = this.#parts.clock.now();
    const stored = await this.#parts.store.reportUsage(this.#terms, contribution);
    this.#isTelling = false;
    if (stored.kind === "away") return this.#lose();
    this.#quota.acknowledged(contribution);
    this.#hear(stored.answer, askedMs, this.#parts.clock.now());
  }
}

/** Settling twice would free a lease that somebody else holds: the second time does nothing. */
function once(settled: (settlement: Settlement) => void): Pick<Lease, "settle"> {
  let isOpen = true;
  return {
    settle: (settlement) => {
      if (!isOpen) return;
      isOpen = false;
      settled(settlement);
    },
  };
}

/** What the keeper of a budget said last, by our own clock. */
class SharedBudgetView {
  #standing: SharedStanding | undefined;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  #yieldUntilMs = Number.NEGATIVE_INFINITY;
  #coldUntilMs = Number.NEGATIVE_INFINITY;
  #heardMs = Number.NEGATIVE_INFINITY;

  /** Whether a wait may have become shorter than it was said to be. */
  hear(standing: SharedStanding, nowMs: number): boolean {
    const before = this.#standing;
    this.#standing = standing;
    this.#heardMs = nowMs;
    // A keeper that was emptied has forgotten it; we have not.
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + standing.pausedMs);
    this.#yieldUntilMs = nowMs + standing.yieldMs;
    this.#coldUntilMs = nowMs + standing.coldMs;
    return before === undefined || before.freed !== standing.freed || before.epoch !== standing.epoch;
  }

  get standing(): SharedStanding | undefined {
    return this.#standing;
  }

  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  get heardMs(): number {
    return this.#heardMs;
  }

  isYielding(nowMs: number): boolean {
    return nowMs < this.#yieldUntilMs;
  }

  /** Until when it refuses, as it does not know everything. */
  get coldUntilMs(): number {
    return this.#coldUntilMs;
  }
}
