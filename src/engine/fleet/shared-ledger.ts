import type { Advice } from "../../core/advice/advice.ts";
import { adviceFor } from "../../core/budget/concerned.ts";
import {
  type BudgetRestraint,
  type BudgetState,
  type LeaseDecision,
  type RunningLedger,
  strictest,
} from "../../core/budget/ledger.ts";
import type { LedgerStore } from "../../core/fleet/ledger-store.ts";
import type { Clock } from "../../core/time/clock.ts";
import type { Budget, Config, Fleet, Upstream } from "../../core/config/config.ts";
import { tokenRequests } from "../../core/config/oauth2.ts";
import { sendersByBudget } from "../../core/budget/needs.ts";
import { Quotas } from "../../core/budget/quotas.ts";
import type { BudgetRecord } from "../../core/budget/record.ts";
import { SharedBudget } from "./shared-budget.ts";
import { Seat } from "./seat.ts";
import { takeLeases } from "./take-leases.ts";

const TICK_MS = 1_000;

export type SharedLedgerParts = {
  readonly fleet: Fleet;
  readonly store: LedgerStore;
  readonly clock: Clock;
  /** Unique for each process. */
  readonly life: string;
  readonly quotas?: Quotas | undefined;
  readonly records?: ReadonlyMap<string, BudgetRecord> | undefined;
  /** Other replicas have a right to all reserves; or, after that, this one has a right to one. */
  readonly onReserveMissing?: (isMissing: boolean) => void;
  readonly onBug: (error: unknown) => void;
};

/** The ledger of one replica: its budgets are shared with the others in Redis. */
export class SharedLedger implements RunningLedger, AsyncDisposable {
  readonly #parts: SharedLedgerParts;
  readonly #seat: Seat;
  readonly #budgets = new Map<string, SharedBudget>();
  /** Of budgets that are not in the config now. */
  readonly #absent: Map<string, BudgetRecord>;
  readonly #listeners: ((budget: string) => void)[] = [];
  readonly quotas: Quotas;
  readonly #closing = new AbortController();
  readonly #ended: Promise<void>;
  #leases = 0;

  constructor(config: Config, parts: SharedLedgerParts) {
    const { fleet, store, clock } = parts;
    this.#parts = parts;
    this.quotas = parts.quotas ?? new Quotas(clock);
    this.quotas.calendar.onSet((byMs, calendarMs) => {
      for (const budget of this.#budgets.values()) budget.calendarSet(byMs, calendarMs);
    });
    this.#absent = new Map(parts.records ?? []);
    this.#seat = new Seat(store, clock, fleet.name, fleet.replicas, {
      onTaken: () => {
        for (const budget of this.#budgets.values()) budget.seatTaken();
      },
      onMissing: (isMissing) => parts.onReserveMissing?.(isMissing),
    });
    this.change(config);
    store.onBack(() => {
      this.#seat.askAtOnce();
      this.#tick();
    });
    this.#ended = this.#keepTicking();
  }

  /** Whether this replica may use its reserve while Redis is away. */
  get hasReserve(): boolean {
    return this.#seat.isUsable;
  }

  async take(budgets: readonly string[]): Promise<LeaseDecision> {
    const { clock, store, life } = this.#parts;
    const nextLease = (): string => `${life}-${(this.#leases += 1).toString(36)}`;
    const asked = budgets.map((budget) => this.#get(budget, "take a lease"));
    return await takeLeases(asked, { clock, store, nextLease });
  }

  applyAdvice(budgets: readonly string[], advice: Advice): void {
    // One of them may have left the config.
    const known = budgets.map((budget) => this.#budgets.get(budget)).filter((each) => each !== undefined);
    const all = known.map(({ budget }) => budget);
    for (const each of known) each.applyAdvice(adviceFor(each.budget, all, advice));
  }

  resume(budget: string): boolean {
    this.#budgets.get(budget)?.resume();
    return this.#budgets.has(budget);
  }

  restraint(budgets: readonly string[]): BudgetRestraint {
    return strictest(budgets.map((budget) => this.#get(budget, "ask a budget").restraint()));
  }

  state(budget: string): BudgetState | undefined {
    return this.#budgets.get(budget)?.state();
  }

  record(budget: string): BudgetRecord | undefined {
    return this.#budgets.get(budget)?.record;
  }

  onChange(listener: (budget: string) => void): void {
    this.#listeners.push(listener);
  }

  /** Redis itself lets a budget that is new to it wait until unknown earlier requests no longer count. */
  change(config: Config): void {
    this.quotas.change(config);
    const staying = new Set(config.budgets.map((budget) => budget.name));
    for (const [name, budget] of this.#budgets) {
      if (staying.has(name)) continue;
      this.#budgets.delete(name);
      this.#absent.set(name, budget.record);
    }
    const senders = [...config.upstreams, ...tokenRequests(config.upstreams, config.fleet)];
    const byBudget = sendersByBudget(senders);
    for (const budget of config.budgets) {
      const users = byBudget.get(budget.name) ?? [];
      const kept = this.#budgets.get(budget.name);
      if (kept === undefined) this.#budgets.set(budget.name, this.#add(budget, users));
      else kept.change(budget, users);
      this.#notify(budget.name);
    }
  }

  /** Gives the seat and the reserves back, so that the next replica, by another name, need not wait for a day. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#ended;
    const budgets = [...this.#budgets.values()];
    await Promise.all(budgets.map((budget) => budget.end()));
    await this.#seat.leave();
    await Promise.all(budgets.map((budget) => budget.giveReserveBack()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #get(name: string, purpose: string): SharedBudget {
    const budget = this.#budgets.get(name);
    if (budget === undefined) throw new Error(`cannot ${purpose}: budget "${name}" must be in the config`);
    return budget;
  }

  #add(budget: Budget, users: readonly Upstream[]): SharedBudget {
    const { fleet, store, clock, life } = this.#parts;
    const record = this.#absent.get(budget.name);
    this.#absent.delete(budget.name);
    return new SharedBudget(budget, users, {
      fleet,
      store,
      clock,
      life,
      quota: this.quotas.of(budget.name),
      record,
      seat: this.#seat,
      onChange: () => this.#notify(budget.name),
    });
  }

  async #keepTicking(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      this.#tick();
      await this.#parts.clock.sleep(TICK_MS, signal);
    }
  }

  /** Not awaited: a slow answer must not delay the next tick. */
  #tick(): void {
    const ticks = [...this.#budgets.values()].map((budget) => budget.tick());
    Promise.all([this.#seat.keep(), ...ticks]).catch(this.#parts.onBug);
  }

  #notify(budget: string): void {
    for (const listener of this.#listeners) listener(budget);
  }
}
