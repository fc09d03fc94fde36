import type { Advice } from "../../core/advice/advice.ts";
import {
  leaseOf,
  type BudgetRestraint,
  type BudgetState,
  type Lease,
  type Wait,
} from "../../core/budget/ledger.ts";
import { paceGapMs } from "../../core/budget/leases.ts";
import type { QuotaCount } from "../../core/budget/quota.ts";
import { needsOf } from "../../core/budget/needs.ts";
import { type BudgetRecord, heldOf, recordOf } from "../../core/budget/record.ts";
import { Restraint } from "../../core/budget/restraint.ts";
import { type Needs, saysNothing } from "../../core/budget/signals.ts";
import { type Budget, capOf, type Fleet, type Upstream } from "../../core/config/config.ts";
import type { LedgerStore, SharedState, SharedTerms } from "../../core/fleet/ledger-store.ts";
import { sharedOf, sharedTermsOf, usableForMs, vantagesOf } from "../../core/fleet/shares.ts";
import type { Clock } from "../../core/time/clock.ts";
import { type Moment, momentOf, mostSince } from "../../core/time/moment.ts";
import { BudgetSync } from "./budget-sync.ts";
import { Reserve } from "./reserve.ts";
import type { Seat } from "./seat.ts";
import { SharedQuota } from "./shared-quota.ts";

export type SharedBudgetParts = {
  readonly fleet: Fleet;
  readonly store: LedgerStore;
  readonly clock: Clock;
  readonly seat: Seat;
  /** A wait may have become shorter than announced. */
  readonly onChange: () => void;
  readonly quota: QuotaCount;
  readonly record: BudgetRecord | undefined;
  readonly life: string;
};

const ASK_AGAIN_MS = 1_000;
/**
 * So often a second at most. Redis says how long a poll waits, and when it may wait less: it must not keep this replica
 * busy with asking.
 */
const MOST_ASKED_IN_VAIN = 100;
/** Just under a tick, so that a tick that comes a little early finds it due. */
const REFRESH_SOON_MS = 0.9 * ASK_AGAIN_MS;
const REFRESH_MS = 10_000;
const REFRESH_UNUSED_MS = 60_000;

function longestTimeoutMs(users: readonly Upstream[]): number {
  return Math.max(0, ...users.map((upstream) => upstream.timeoutMs));
}

/** One budget of a fleet: shared in Redis while that is reachable, else this replica's own reserve. */
export class SharedBudget {
  readonly #parts: SharedBudgetParts;
  #budget: Budget;
  #timeoutMs: number;
  readonly #reserve: Reserve;
  readonly #restraint: Restraint;
  readonly #quota: SharedQuota;
  readonly #sync: BudgetSync;
  /** Whether Redis is told that this replica may use a reserve. */
  #toldSeat: boolean;
  #usedMs: number;
  /** Until when a poll was told to wait. */
  #waitsUntilMs = Number.NEGATIVE_INFINITY;
  /** Since when, and how often, Redis granted nothing. */
  #inVain = { sinceMs: Number.NEGATIVE_INFINITY, count: 0 };

  constructor(budget: Budget, users: readonly Upstream[], parts: SharedBudgetParts) {
    const timeoutMs = longestTimeoutMs(users);
    const { fleet, store, clock, onChange } = parts;
    this.#parts = parts;
    this.#budget = budget;
    this.#timeoutMs = timeoutMs;
    this.#reserve = new Reserve(budget, fleet);
    this.#restraint = new Restraint(budget, this.#needsOf(budget, users));
    if (parts.record !== undefined)
      this.#restraint.adopt(heldOf(parts.record, momentOf(clock), budget.maxPauseMs));
    this.#quota = new SharedQuota(parts.quota, parts.life);
    const terms = sharedTermsOf(budget, fleet, timeoutMs, parts.seat.isUsable);
    this.#toldSeat = parts.seat.isUsable;
    this.#sync = new BudgetSync(terms, { store, clock, onChange, quota: this.#quota });
    this.#usedMs = clock.now();
  }

  calendarSet(byMs: number, calendarMs: number): void {
    this.#quota.calendarSet(byMs, calendarMs);
  }

  /** The timeout never becomes shorter: requests may still be open under the old one. */
  change(budget: Budget, users: readonly Upstream[]): void {
    this.#budget = budget;
    this.#timeoutMs = Math.max(this.#timeoutMs, longestTimeoutMs(users));
    this.#reserve.change(budget, this.#timeoutMs + budget.lingerMs, this.#parts.clock.now());
    this.#restraint.change(budget, this.#needsOf(budget, users));
    this.#tellTerms();
  }

  get record(): BudgetRecord {
    return recordOf({ ...this.#restraint.held, untold: undefined }, momentOf(this.#parts.clock));
  }

  /** Of all replicas, and beside what is set aside for their reserves. */
  #needsOf(budget: Budget, users: readonly Upstream[]): Needs {
    const { fleet } = this.#parts;
    const needs = needsOf(users);
    return (rate) => {
      const cap = capOf(rate, budget.share);
      return needs(rate) * vantagesOf(fleet) + cap - sharedOf(cap, fleet);
    };
  }

  /** Another replica may have had the seat before. */
  seatTaken(): void {
    this.#reserve.close();
    this.#tellTerms();
    void this.#sync.refresh(0);
    this.#parts.onChange();
  }

  #tellTerms(): void {
    const { fleet, seat } = this.#parts;
    this.#toldSeat = seat.isUsable;
    this.#sync.terms = sharedTermsOf(this.#budget, fleet, this.#timeoutMs, this.#toldSeat);
    if (!this.#sync.isReserved) this.#reserve.close();
  }

  /** A reserve may be used only where Redis has set it aside: other replicas may have another config. */
  #openReserve(): void {
    if (this.#reserve.isOpen || !this.#hasReserve) return;
    this.#reserve.open(this.#parts.clock.now(), this.terms.holdMs);
    this.#parts.onChange();
  }

  get #hasReserve(): boolean {
    return this.#parts.seat.isUsable && this.#sync.isReserved;
  }

  get budget(): Budget {
    return this.#budget;
  }

  get sync(): BudgetSync {
    return this.#sync;
  }

  get terms(): SharedTerms {
    return this.#sync.terms;
  }

  /** Whether Redis can grant a lease of it now, as far as this replica knows. */
  get isShared(): boolean {
    const { isReachable, coldUntilMs } = this.#sync.view;
    return isReachable && this.#parts.clock.now() >= coldUntilMs;
  }

  get isPaused(): boolean {
    return this.#pausedUntilMs > this.#parts.clock.now();
  }

  /** What stands against any lease, wherever it comes from. */
  heldBack(): Wait | undefined {
    const budget = this.#budget.name;
    const nowMs = this.#parts.clock.now();
    this.#usedMs = nowMs;
    if (this.isPaused) {
      return { kind: "wait", untilMs: this.#pausedUntilMs, cause: "backoff", budget };
    }
    const { sinceMs, count } = this.#inVain;
    if (count >= MOST_ASKED_IN_VAIN && nowMs < sinceMs + ASK_AGAIN_MS)
      return { kind: "wait", untilMs: sinceMs + ASK_AGAIN_MS, cause: "ledger", budget };
    if (!this.#isQuotaSpent) return undefined;
    const shortestMs = Math.min(...this.#budget.rates.map((rate) => rate.perMs));
    return { kind: "wait", untilMs: nowMs + shortestMs, cause: "quota", budget };
  }

  /** Redis was asked, and granted nothing. */
  askedInVain(): void {
    const nowMs = this.#parts.clock.now();
    if (nowMs >= this.#inVain.sinceMs + ASK_AGAIN_MS) this.#inVain = { sinceMs: nowMs, count: 0 };
    this.#inVain.count += 1;
  }

  /** A poll was told to wait for so long, or may be sent. */
  decided(waitsUntilMs: number | undefined): void {
    this.#waitsUntilMs = waitsUntilMs ?? Number.NEGATIVE_INFINITY;
  }

  /** Of a lease that Redis granted. */
  sharedLease(name: string, asked: Moment, state: SharedState): Lease {
    const { clock } = this.#parts;
    const usableMs = usableForMs(this.#timeoutMs);
    const end = this.#quota.send(state);
    return leaseOf(
      () => mostSince(asked, momentOf(clock)) < usableMs,
      (settlement) => {
        end(settlement !== "unsent");
        this.#sync.settled({ lease: name, settlement, heldMs: clock.now() - asked.nowMs });
      },
    );
  }

  /** What stands against a lease of the reserve; undefined if `reserveLease` may follow at once. */
  reserveWait(): Wait | undefined {
    this.#openReserve();
    const nowMs = this.#parts.clock.now();
    const freeAtMs = this.#hasReserve ? this.#reserve.freeAtMs(this.#restraint, nowMs) : undefined;
    if (freeAtMs !== undefined && freeAtMs <= nowMs) return undefined;
    // Or until Redis can be asked again. onChange reports that it is reachable, but not that it knows everything.
    const { isReachable, coldUntilMs } = this.#sync.view;
    const askAgainMs = isReachable ? Math.max(coldUntilMs, nowMs + ASK_AGAIN_MS) : Infinity;
    const untilMs = Math.min(freeAtMs ?? nowMs + ASK_AGAIN_MS, askAgainMs);
    return { kind: "wait", untilMs, cause: "ledger", budget: this.#budget.name };
  }

  reserveLease(): Lease {
    const { clock, onChange } = this.#parts;
    const settle = this.#reserve.grant(clock.now());
    const end = this.#quota.send(undefined);
    return leaseOf(
      () => this.#hasReserve,
      (settlement) => {
        settle(settlement, clock.now());
        end(settlement !== "unsent");
        if (settlement === "unsent") onChange();
      },
    );
  }

  applyAdvice(advice: Advice): void {
    const signals = this.#restraint.applyAdvice(advice, this.#parts.clock.now());
    const endsCount = (this.#sync.view.state?.refusals ?? 0) > 0;
    if (endsCount || !saysNothing(signals)) this.#sync.signalled(signals);
  }

  resume(): void {
    this.#restraint.active.resume();
    this.#sync.resumed();
    this.#parts.onChange();
  }

  restraint(): BudgetRestraint {
    const nowMs = this.#parts.clock.now();
    const { view } = this.#sync;
    return {
      pausedUntilMs: this.#pausedUntilMs,
      isYielding: view.isReachable ? nowMs < view.yieldUntilMs : this.#restraint.isYielding(nowMs),
      isQuotaSpent: this.#isQuotaSpent,
      paceGapMs: paceGapMs(this.#sync.terms.rates),
      maxPauseMs: this.#budget.maxPauseMs,
      blindAfterMs: this.#budget.blindAfterMs,
    };
  }

  state(): BudgetState {
    const nowMs = this.#parts.clock.now();
    const { view } = this.#sync;
    const shared = view.isReachable ? view.state : undefined;
    const own = view.isReachable ? [] : this.#reserve.caps(this.#restraint, nowMs);
    const { limit, remaining } = this.#restraint.active.advertised;
    return {
      rates: this.#budget.rates.map((rate, index) => ({
        label: rate.label,
        limit: rate.requests,
        cap: shared?.caps[index] ?? own[index] ?? capOf(rate, this.#budget.share),
        leases: shared?.leases[index] ?? this.#reserve.heldIn(rate.perMs, nowMs),
      })),
      advertisedLimit: shared?.advertisedLimit ?? limit,
      advertisedRemaining: shared?.advertisedRemaining ?? remaining,
      advertisedLimits: this.#restraint.limits,
      pausedUntilMs: this.#pausedUntilMs,
      quotaUsed: this.#quota.used(view.state),
      quotaUnconfirmed: this.#quota.unconfirmed,
    };
  }

  /** About once a second, and when Redis is reachable again. */
  async tick(): Promise<void> {
    if (this.#toldSeat !== this.#parts.seat.isUsable) this.#tellTerms();
    this.#openReserve();
    const nowMs = this.#parts.clock.now();
    const isUsed = nowMs - this.#usedMs < REFRESH_UNUSED_MS;
    const isSoon = !this.#sync.view.isReachable || nowMs < this.#waitsUntilMs;
    await this.#sync.refresh(isSoon ? REFRESH_SOON_MS : isUsed ? REFRESH_MS : REFRESH_UNUSED_MS);
  }

  async end(): Promise<void> {
    await this.#sync.send();
  }

  /** Without the seat. Redis shares it again when what was sent from it no longer counts. */
  async giveReserveBack(): Promise<void> {
    if (!this.#toldSeat) return;
    this.#tellTerms();
    await this.#sync.tellTerms();
  }

  get #pausedUntilMs(): number {
    return Math.max(this.#restraint.active.pausedUntilMs, this.#sync.view.pausedUntilMs);
  }

  get #isQuotaSpent(): boolean {
    return this.#quota.isSpent(this.#sync.view.state);
  }
}
