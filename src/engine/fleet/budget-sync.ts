import { RESUME, type UpstreamSignals } from "../../core/budget/signals.ts";
import type {
  LedgerStore,
  Stored,
  SharedSettlement,
  SharedState,
  SharedTaking,
  SharedTerms,
} from "../../core/fleet/ledger-store.ts";
import {
  mayWaitLess,
  NOTHING_KNOWN,
  RedisClock,
  type SharedBudgetView,
  updated,
} from "../../core/fleet/shared-budget-view.ts";
import type { Clock } from "../../core/time/clock.ts";
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
  readonly deliver: (terms: SharedTerms, agoMs: number) => Promise<Stored<SharedState>>;
};

const RESUME_WITHIN_MS = 1_000;
/** More than any outage leaves open. The oldest is worth least. */
const MOST_MESSAGES = 10_000;

/** Keeps one shared budget in step with Redis: asks for leases, reports what happened, and knows its last state. */
export class BudgetSync {
  terms: SharedTerms;
  readonly #parts: BudgetSyncParts;
  readonly #redisClock = new RedisClock();
  #view = NOTHING_KNOWN;
  #messages: Message[] = [];
  #isLooking = false;
  #isReporting = false;

  constructor(terms: SharedTerms, parts: BudgetSyncParts) {
    this.terms = terms;
    this.#parts = parts;
  }

  get view(): SharedBudgetView {
    return this.#view;
  }

  /** Undefined if Redis is unreachable. A grant is only good if its clock is trusted. */
  async take(
    lease: string,
  ): Promise<{ readonly taking: SharedTaking; readonly isTrusted: boolean } | undefined> {
    const { clock, store } = this.#parts;
    const askedMs = clock.now();
    const stored = await store.take(this.terms, lease);
    const nowMs = clock.now();
    if (stored.kind === "answered") {
      return { taking: stored.answer, isTrusted: this.#update(stored.answer, askedMs, nowMs) };
    }
    // Redis may have granted it all the same.
    this.#lose();
    this.settled({ lease, settlement: "unsent", heldMs: nowMs - askedMs });
    return undefined;
  }

  settled(settled: SharedSettlement): void {
    this.#tell((terms, agoMs) => this.#parts.store.settle(terms, settled, agoMs));
  }

  signalled(signals: UpstreamSignals): void {
    this.#tell((terms, agoMs) => this.#parts.store.applySignals(terms, signals, agoMs));
  }

  /** By the operator's word. Redis forgets the pause only if it hears of it at once: later it may be another one. */
  resumed(): void {
    const { store } = this.#parts;
    this.#view = {
      ...this.#view,
      pausedUntilMs: Number.NEGATIVE_INFINITY,
      yieldUntilMs: Number.NEGATIVE_INFINITY,
    };
    this.#tell((terms, agoMs) =>
      agoMs > RESUME_WITHIN_MS ? store.look(terms, false) : store.applySignals(terms, RESUME, agoMs),
    );
  }

  #tell(deliver: Message["deliver"]): void {
    this.#messages.push({ atMs: this.#parts.clock.now(), deliver });
    if (this.#messages.length > MOST_MESSAGES) this.#messages.shift();
    void this.send();
  }

  /** Sends what is waiting, if Redis is reachable. */
  async send(): Promise<void> {
    const messages = this.#messages;
    if (messages.length === 0 || !this.#view.isReachable) return;
    this.#messages = [];
    const askedMs = this.#parts.clock.now();
    const { terms } = this;
    const answers = await Promise.all(
      messages.map(({ atMs, deliver }) => deliver(terms, Math.max(0, askedMs - atMs))),
    );
    const kept = messages.filter((_, index) => answers[index]?.kind === "away");
    this.#messages = [...kept, ...this.#messages].slice(-MOST_MESSAGES);
    const last = answers.at(-1);
    if (kept.length > 0) this.#lose();
    else if (last?.kind === "answered") this.#update(last.answer, askedMs, this.#parts.clock.now());
  }

  /** Asks Redis for the state, if the last one is older than `ageMs`. */
  async refresh(ageMs: number): Promise<void> {
    const isDue = this.#parts.clock.now() - this.#view.updatedMs >= ageMs;
    if (isDue && !this.#isLooking) await this.#look(false);
  }

  async #look(isAnew: boolean): Promise<void> {
    this.#isLooking = true;
    const askedMs = this.#parts.clock.now();
    const stored = await this.#parts.store.look(this.terms, isAnew);
    this.#isLooking = false;
    if (stored.kind === "away") return this.#lose();
    this.#update(stored.answer, askedMs, this.#parts.clock.now());
    await this.send();
  }

  #lose(): void {
    if (!this.#view.isReachable) return;
    this.#view = { ...this.#view, isReachable: false };
    this.#parts.onChange();
  }

  /** Whether the clock that answered can be trusted. */
  #update(state: SharedState, askedMs: number, nowMs: number): boolean {
    const hasStepped = this.#redisClock.hasStepped(state, askedMs, nowMs);
    const hasChanged = mayWaitLess(this.#view, state);
    this.#view = updated(this.#view, state, nowMs);
    if (hasStepped) void this.#look(true);
    if (this.terms.quota !== undefined) void this.#reportUsage(state);
    if (hasChanged) this.#parts.onChange();
    return !hasStepped;
  }

  async #reportUsage(state: SharedState): Promise<void> {
    if (this.#isReporting) return;
    const { clock, quota, store } = this.#parts;
    const report = quota.pending(state);
    if (report === undefined) return;
    this.#isReporting = true;
    const askedMs = clock.now();
    const stored = await store.reportUsage(this.terms, report);
    this.#isReporting = false;
    if (stored.kind === "away") return this.#lose();
    quota.acknowledged(report);
    this.#update(stored.answer, askedMs, clock.now());
  }
}
