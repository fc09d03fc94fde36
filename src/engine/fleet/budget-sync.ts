import type { UpstreamSignals } from "../../core/budget/signals.ts";
import {
  type LedgerStore,
  RESERVE_KEPT_MS,
  type SharedMessage,
  type SharedSettlement,
  type SharedState,
  type SharedTerms,
} from "../../core/fleet/ledger-store.ts";
import {
  mayWaitLess,
  NOTHING_KNOWN,
  RedisClock,
  type SharedBudgetView,
  updated,
} from "../../core/fleet/shared-budget-view.ts";
import { type Clock, CLOCK_RATE_MARGIN } from "../../core/time/clock.ts";
import { type Moment, momentOf, mostSince } from "../../core/time/moment.ts";
import type { SharedQuota } from "./shared-quota.ts";

export type BudgetSyncParts = {
  readonly store: LedgerStore;
  readonly clock: Clock;
  readonly quota: SharedQuota;
  /** A wait may have become shorter than announced. */
  readonly onChange: () => void;
};

/** What Redis must be told, kept while it is unreachable. */
type Message = {
  readonly atMs: number;
  readonly tell: (agoMs: number) => SharedMessage;
};

/** More than any outage leaves open. The oldest is worth least. */
const MOST_MESSAGES = 10_000;
/** In one call. Redis serves nobody else meanwhile. */
const MOST_AT_ONCE = 200;
const RESERVE_USABLE_MS = RESERVE_KEPT_MS / CLOCK_RATE_MARGIN;
/** Between two answers to the same surprise: a Redis that surprises with each answer must not keep this replica busy. */
const SURPRISED_EVERY_MS = 500;
const NEVER = new AbortController().signal;

/** Keeps one shared budget in step with Redis: asks for leases, reports what happened, and knows its last state. */
export class BudgetSync {
  #terms: SharedTerms;
  /** When Redis was last asked of which it is known that it sets this replica's reserve aside. */
  #reservedAt: Moment | undefined;
  readonly #parts: BudgetSyncParts;
  readonly #redisClock = new RedisClock();
  #view = NOTHING_KNOWN;
  #messages: Message[] = [];
  #isSendingSoon = false;
  #sending: Promise<void> | undefined;
  #isLooking = false;
  #isReporting = false;
  /** Its clock was set forward, and it was not asked anew yet. */
  #mustLookAnew = false;
  #lookedAnewMs = Number.NEGATIVE_INFINITY;
  #firstReportedMs = Number.NEGATIVE_INFINITY;

  constructor(terms: SharedTerms, parts: BudgetSyncParts) {
    this.#terms = terms;
    this.#parts = parts;
  }

  get terms(): SharedTerms {
    return this.#terms;
  }

  set terms(terms: SharedTerms) {
    if (!hasSameReserve(terms, this.#terms)) this.#reservedAt = undefined;
    this.#terms = terms;
  }

  /** Whether Redis keeps this replica's reserve out of the shared part, also while it is away. */
  get isReserved(): boolean {
    return (
      this.#reservedAt !== undefined &&
      mostSince(this.#reservedAt, momentOf(this.#parts.clock)) < RESERVE_USABLE_MS
    );
  }

  get view(): SharedBudgetView {
    return this.#view;
  }

  /** A lease was asked for. A grant is only good if this clock is trusted. */
  answered(state: SharedState, asked: Moment): { readonly isTrusted: boolean } {
    return { isTrusted: this.#update(state, asked, this.#parts.clock.now()) };
  }

  /** A lease was asked for, without an answer: Redis may have granted it all the same. */
  unanswered(lease: string, askedMs: number): void {
    this.#lose();
    this.settled({ lease, settlement: "unsent", heldMs: this.#parts.clock.now() - askedMs });
  }

  settled(settled: SharedSettlement): void {
    this.#tell((agoMs) => ({ kind: "settled", ...settled, agoMs }));
  }

  signalled(signals: UpstreamSignals): void {
    this.#tell((agoMs) => ({ kind: "signalled", signals, agoMs }));
  }

  /** By the operator's word. Redis ends the pause only if it hears of it at once: later it may be another one. */
  resumed(): void {
    this.#view = {
      ...this.#view,
      pausedUntilMs: Number.NEGATIVE_INFINITY,
      yieldUntilMs: Number.NEGATIVE_INFINITY,
    };
    this.#tell((agoMs) => ({ kind: "resumed", agoMs }));
  }

  #tell(tell: Message["tell"]): void {
    this.#messages.push({ atMs: this.#parts.clock.now(), tell });
    if (this.#messages.length > MOST_MESSAGES) this.#messages.shift();
    if (!this.#isSendingSoon) void this.#sendSoon();
  }

  /** What an answer settles and what it says are told in one call. */
  async #sendSoon(): Promise<void> {
    this.#isSendingSoon = true;
    await this.#parts.clock.sleep(0, NEVER);
    this.#isSendingSoon = false;
    await this.send();
  }

  /** Sends what is waiting, if Redis is reachable. */
  async send(): Promise<void> {
    if (this.#messages.length > 0 && this.#view.isReachable) this.#sending ??= this.#sendAll();
    await this.#sending;
  }

  /** One call at a time: what comes meanwhile goes with the next. */
  async #sendAll(): Promise<void> {
    const { clock, store } = this.#parts;
    while (this.#messages.length > 0 && this.#view.isReachable) {
      const batch = this.#messages.splice(0, MOST_AT_ONCE);
      const asked = momentOf(clock);
      const told = batch.map(({ atMs, tell }) => tell(Math.max(0, asked.nowMs - atMs)));
      const stored = await store.report(this.terms, told);
      if (stored.kind === "away") {
        this.#messages = [...batch, ...this.#messages].slice(-MOST_MESSAGES);
        this.#lose();
      } else this.#update(stored.answer, asked, clock.now());
    }
    this.#sending = undefined;
  }

  /** Asks Redis for the state, if the last one is older than `ageMs`. */
  async refresh(ageMs: number): Promise<void> {
    const isDue = this.#parts.clock.now() - this.#view.updatedMs >= ageMs;
    if (isDue && !this.#isLooking) await this.#look();
  }

  async tellTerms(): Promise<void> {
    if (this.#view.isReachable) await this.#look();
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    const isAnew = this.#mustLookAnew;
    if (isAnew) this.#lookedAnewMs = this.#parts.clock.now();
    this.#mustLookAnew = false;
    const asked = momentOf(this.#parts.clock);
    const stored = await this.#parts.store.look(this.terms, isAnew);
    this.#isLooking = false;
    if (stored.kind === "away") return this.#lose();
    this.#update(stored.answer, asked, this.#parts.clock.now());
    await this.send();
  }

  #lose(): void {
    if (!this.#view.isReachable) return;
    this.#view = { ...this.#view, isReachable: false };
    this.#parts.onChange();
  }

  /** Whether the clock that answered can be trusted. */
  #update(state: SharedState, asked: Moment, nowMs: number): boolean {
    const hasStepped = this.#redisClock.hasStepped(state, asked.nowMs, nowMs);
    const hasChanged = mayWaitLess(this.#view, state);
    this.#view = updated(this.#view, state, nowMs, this.terms.maxPauseMs);
    if (isReservedBy(state, this.#terms)) this.#reservedAt = asked;
    if (hasStepped) this.#mustLookAnew = true;
    if (this.#mustLookAnew && nowMs >= this.#lookedAnewMs + SURPRISED_EVERY_MS) void this.#look();
    if (this.terms.quota !== undefined) void this.#reportUsage(state);
    if (hasChanged) this.#parts.onChange();
    return !hasStepped;
  }

  async #reportUsage(state: SharedState): Promise<void> {
    if (this.#isReporting) return;
    const { clock, quota, store } = this.#parts;
    // Redis knows nothing of this replica: all is told, once.
    if (!state.hasReported) {
      if (clock.now() < this.#firstReportedMs + SURPRISED_EVERY_MS) return;
      this.#firstReportedMs = clock.now();
    }
    const report = quota.pending(state);
    if (report === undefined) return;
    this.#isReporting = true;
    const asked = momentOf(clock);
    const stored = await store.reportUsage(this.terms, report);
    this.#isReporting = false;
    if (stored.kind === "away") return this.#lose();
    quota.acknowledged(report);
    this.#update(stored.answer, asked, clock.now());
  }
}

function hasSameReserve({ rates }: SharedTerms, before: SharedTerms): boolean {
  return rates.every(({ own, perMs }, index) => {
    const rate = before.rates[index];
    return rate?.own === own && rate.perMs === perMs;
  });
}

/** Compared by number: the call may have told of an earlier reserve. */
function isReservedBy({ reserved }: SharedState, { rates }: SharedTerms): boolean {
  return rates.every(({ own }, index) => own > 0 && (reserved[index] ?? 0) >= own);
}
