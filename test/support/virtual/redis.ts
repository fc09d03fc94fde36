import type {
  LedgerStore,
  Stored,
  UsageReport,
  SharedMessage,
  SharedState,
  SharedTaking,
  SharedTerms,
} from "../../../src/core/fleet/ledger-store.ts";
import type { Clock } from "../../../src/core/time/clock.ts";
import { type RedisMoment, SharedBudgetModel, takeOfEach } from "../../models/shared-budget.ts";

const DEADLINE_MS = 500;

/** The Redis of a virtual world: the same rule, on paper. Its wall clock can be stepped, and it can lose everything. */
export class VirtualRedis {
  readonly #clock: Clock;
  #budgets = new Map<string, SharedBudgetModel>();
  #seats = new Map<number, { readonly owner: string; readonly untilMs: number }>();
  #life = 1;
  #offsetMs = 1_795_000_000_000;
  isDown = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Restarted without its data, or another one that was promoted without it. */
  empty(): void {
    this.#budgets = new Map();
    this.#seats = new Map();
    this.#life += 1;
  }

  /** Restarted with all of its data. */
  restart(): void {
    this.#life += 1;
  }

  stepClock(byMs: number): void {
    this.#offsetMs += byMs;
  }

  get now(): RedisMoment {
    return { nowMs: this.#clock.now() + this.#offsetMs, run: `life${this.#life}` };
  }

  budget({ budget }: SharedTerms): SharedBudgetModel {
    const known = this.#budgets.get(budget) ?? new SharedBudgetModel();
    this.#budgets.set(budget, known);
    return known;
  }

  takeSeat(seats: number, owner: string, forMs: number): number | undefined {
    const { nowMs } = this.now;
    let free: number | undefined;
    for (let seat = 1; seat <= seats; seat += 1) {
      const taken = this.#seats.get(seat);
      if (taken?.owner === owner) {
        free = seat;
        break;
      }
      if (taken === undefined || taken.untilMs <= nowMs) free ??= seat;
    }
    if (free !== undefined) this.#seats.set(free, { owner, untilMs: nowMs + forMs });
    return free;
  }

  leaveSeat(owner: string): void {
    for (const [seat, taken] of this.#seats) if (taken.owner === owner) this.#seats.delete(seat);
  }
}

/** How one replica reaches Redis: slowly, or not at all. */
export class VirtualStore implements LedgerStore {
  readonly #redis: VirtualRedis;
  readonly #clock: Clock;
  readonly #delayMs: () => number;
  readonly #listeners: (() => void)[] = [];
  readonly #signal = new AbortController().signal;
  /** Nothing gets through, in either direction. */
  #isCut = false;
  /** Calls that told something. */
  reports = 0;

  /** `delayMs` is that of one direction. */
  constructor(redis: VirtualRedis, clock: Clock, delayMs: () => number = () => 0) {
    this.#redis = redis;
    this.#clock = clock;
    this.#delayMs = delayMs;
  }

  cut(): void {
    this.#isCut = true;
  }

  mend(): void {
    this.#isCut = false;
    this.tellBack();
  }

  /** As a connection does that has found Redis again. */
  tellBack(): void {
    for (const listener of this.#listeners) listener();
  }

  take(terms: readonly SharedTerms[], lease: string): Promise<Stored<SharedTaking>> {
    return this.#ask((at) => takeOfEach(terms, (each) => this.#redis.budget(each), lease, at));
  }

  report(terms: SharedTerms, messages: readonly SharedMessage[]): Promise<Stored<SharedState>> {
    this.reports += 1;
    return this.#ask((at) => this.#redis.budget(terms).report(terms, messages, at));
  }

  look(terms: SharedTerms, isAnew: boolean): Promise<Stored<SharedState>> {
    return this.#ask((at) => this.#redis.budget(terms).look(terms, isAnew, at));
  }

  reportUsage(terms: SharedTerms, contribution: UsageReport): Promise<Stored<SharedState>> {
    return this.#ask((at) => this.#redis.budget(terms).reportUsage(terms, contribution, at));
  }

  takeSeat(seats: number, owner: string, forMs: number): Promise<Stored<number | undefined>> {
    return this.#ask(() => this.#redis.takeSeat(seats, owner, forMs));
  }

  leaveSeat(owner: string): Promise<Stored<undefined>> {
    return this.#ask(() => {
      this.#redis.leaveSeat(owner);
      return undefined;
    });
  }

  onBack(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async #ask<Answer>(step: (at: RedisMoment) => Answer): Promise<Stored<Answer>> {
    const askedMs = this.#clock.now();
    await this.#travel();
    if (!this.#isReachable) return this.#inVain(askedMs);
    const answer = step(this.#redis.now);
    await this.#travel();
    return this.#isReachable && this.#clock.now() - askedMs < DEADLINE_MS
      ? { kind: "answered", answer }
      : this.#inVain(askedMs);
  }

  get #isReachable(): boolean {
    return !this.#isCut && !this.#redis.isDown;
  }

  async #travel(): Promise<void> {
    const delayMs = this.#delayMs();
    if (delayMs > 0) await this.#clock.sleep(delayMs, this.#signal);
  }

  async #inVain(askedMs: number): Promise<{ readonly kind: "away" }> {
    await this.#clock.sleep(askedMs + DEADLINE_MS - this.#clock.now(), this.#signal);
    return { kind: "away" };
  }
}
