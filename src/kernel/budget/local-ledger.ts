import type { Advice } from "../../features/hints/fields/advice.ts";
import { BudgetLedger, type BudgetStart } from "./budget-ledger.ts";
import {
  type BudgetRestraint,
  type BudgetState,
  leaseOf,
  type LeaseDecision,
  longestWait,
  type RunningLedger,
  type Settlement,
  strictest,
  type Wait,
} from "./ledger.ts";
import { alsoHeld, type Concern, concernOf, type Whose } from "../../features/hints/concern.ts";
import type { Clock } from "../time/clock.ts";
import type { Moment } from "../time/moment.ts";
import type { Budget, Config, Upstream } from "../config/config.ts";
import { partName } from "../config/part.ts";
import { tokenRequests } from "../../features/auth/oauth2.ts";
import { needsOf, sendersByBudget } from "./needs.ts";
import { Quotas } from "../../features/quota/quotas.ts";
import { type BudgetRecord, heldOf, recordOf } from "../../features/hints/record.ts";

/** A request can still be counted for this long after it was sent: timeout and linger. */
export function uncountedMsOf(upstreams: readonly Upstream[], budgets: readonly Budget[]): number {
  const timeoutMs = Math.max(0, ...upstreams.map((upstream) => upstream.timeoutMs));
  return timeoutMs + Math.max(0, ...budgets.map((budget) => budget.lingerMs));
}

/** Where several processes share the budgets, only the one that leads may send. */
export type Right = {
  /** When it may begin, by what those before it left. Monotonic. */
  startsAtMs(budget: string): number;
  maySend(budget: string): boolean;
};

/** The right is gone, or what it waits for is being noted. */
const ASK_AGAIN_MS = 250;

/** A process keeps every budget that it may use in memory. */
export class LocalLedger implements RunningLedger {
  readonly #clock: Clock;
  readonly #right: Right | undefined;
  readonly quotas: Quotas;
  readonly #budgets = new Map<string, BudgetLedger>();
  /** Removed by a reload while requests were in flight. */
  #retired: readonly BudgetLedger[] = [];
  /** Budgets that are not in the config now may come back. */
  readonly #absent: Map<string, BudgetRecord>;
  /** An upstream that changes its budget takes along what holds it back. */
  #budgetsOf: ReadonlyMap<string, readonly string[]>;
  #upstreamsOf: ReadonlyMap<string, readonly string[]> = new Map();
  /** Of a budget that is gone: those that took over its upstreams. Answers on their way still speak of it. */
  readonly #heirs = new Map<string, Set<string>>();
  readonly #listeners: ((budget: string) => void)[] = [];
  /** The longest time in this process after which a sent request may still be counted. It never shrinks. */
  #longestUncountedMs = 0;

  constructor(
    config: Config,
    clock: Clock,
    quotas: Quotas = new Quotas(clock),
    records: ReadonlyMap<string, BudgetRecord> = new Map(),
    right?: Right,
  ) {
    this.#clock = clock;
    this.#right = right;
    this.quotas = quotas;
    this.#absent = new Map(records);
    const budgetsOf = new Map<string, readonly string[]>();
    for (const [budget, { upstreams }] of records)
      for (const name of upstreams) budgetsOf.set(name, [...(budgetsOf.get(name) ?? []), budget]);
    this.#budgetsOf = budgetsOf;
    this.#adopt(config, "first");
  }

  take(budgets: readonly string[], mostCost: number = 0): LeaseDecision {
    const nowMs = this.#clock.now();
    const wait = this.waitFor(budgets, mostCost);
    if (wait !== undefined) return wait;
    const ledgers = budgets.map((budget) => this.#get(budget, "take a lease"));
    const grants = ledgers.map((ledger) => ledger.grant(nowMs, mostCost));
    const onSettled = (settlement: Settlement): void => {
      for (const grant of grants) grant.settle(settlement, this.#clock.now());
      if (settlement === "unsent") for (const budget of budgets) this.#notify(budget);
    };
    const onCharged = (cost: number): void => {
      for (const grant of grants) grant.charge(cost);
    };
    return {
      kind: "granted",
      lease: leaseOf(onSettled, onCharged, () => this.#mayNotSend(budgets) === undefined),
    };
  }

  waitFor(budgets: readonly string[], mostCost: number = 0): Wait | undefined {
    const nowMs = this.#clock.now();
    const waits = budgets.map((budget) => this.#get(budget, "take a lease").waitFor(nowMs, mostCost));
    const budget = this.#mayNotSend(budgets);
    return (
      longestWait(waits) ??
      (budget === undefined
        ? undefined
        : { kind: "wait", untilMs: nowMs + ASK_AGAIN_MS, cause: "ledger", budget })
    );
  }

  #mayNotSend(budgets: readonly string[]): string | undefined {
    const right = this.#right;
    return right && budgets.find((budget) => !right.maySend(budget));
  }

  applyAdvice(budgets: readonly string[], advice: Advice): Whose | undefined {
    const nowMs = this.#clock.now();
    const known = new Set(budgets.flatMap((budget) => this.#standingFor(budget)));
    const ledgers = [...known].map((budget) => this.#get(budget, "hear of a budget"));
    const concern = ledgers.length > 1 ? this.#concernOf(ledgers, advice, nowMs) : undefined;
    for (const ledger of ledgers) {
      const { name } = ledger.budget;
      const wasUsedUp = ledger.usedUpUntilMs(nowMs) > nowMs;
      if (concern === undefined) ledger.applyAdvice(advice, nowMs);
      else ledger.applyConcern(concern, nowMs);
      if (wasUsedUp || !budgets.includes(name)) this.#notify(name);
    }
    return concern?.held;
  }

  /** A wider budget is held too, once another part of it is refused within one of its windows. */
  #concernOf(ledgers: readonly BudgetLedger[], advice: Advice, nowMs: number): Concern {
    const draws = ledgers.map(({ budget }) => ({
      budget,
      upstreams: this.#upstreamsOf.get(budget.name)?.length ?? 0,
    }));
    const concern = concernOf(draws, advice);
    const refused = [...concern.held].find(([, why]) => advice.throttled && why === "most_specific");
    if (refused === undefined) return concern;
    const [part] = refused;
    const others = ledgers.filter(
      (ledger) => ledger.budget.name !== part && ledger.isRefusedElsewhere(part, nowMs),
    );
    return others.reduce((so, { budget }) => alsoHeld(so, budget.name, advice), concern);
  }

  /** One that left the config has none, or those to which its upstreams went. */
  #standingFor(budget: string): readonly string[] {
    if (this.#budgets.has(budget)) return [budget];
    return [...(this.#heirs.get(budget) ?? [])].flatMap((heir) => this.#standingFor(heir));
  }

  resume(budget: string): boolean {
    const ledger = this.#budgets.get(budget);
    ledger?.resume();
    this.#notify(budget);
    return ledger !== undefined;
  }

  restraint(budgets: readonly string[], mostCost: number = 0): BudgetRestraint {
    const nowMs = this.#clock.now();
    const of = (budget: string): BudgetRestraint =>
      this.#get(budget, "ask a budget").restraint(nowMs, mostCost);
    const [only] = budgets;
    return budgets.length === 1 && only !== undefined ? of(only) : strictest(budgets.map(of));
  }

  isLowered(budgets: readonly string[]): boolean {
    const nowMs = this.#clock.now();
    return budgets.some((budget) => this.#get(budget, "ask a budget").isLowered(nowMs));
  }

  onChange(listener: (budget: string) => void): void {
    this.#listeners.push(listener);
  }

  state(budget: string): BudgetState | undefined {
    return this.#budgets.get(budget)?.state(this.#clock.now());
  }

  record(budget: string): BudgetRecord | undefined {
    const ledger = this.#budgets.get(budget);
    return ledger && this.#recordOf(ledger);
  }

  change(config: Config): void {
    this.#adopt(config, "added");
    for (const budget of config.budgets) this.#notify(budget.name);
  }

  /** By budget, for how long something of it counts, or it has to wait itself; infinite while a request is in flight. */
  get countsForMs(): ReadonlyMap<string, number> {
    const nowMs = this.#clock.now();
    return new Map(
      [...this.#budgets].map(([name, { leases }]) => [name, Math.max(0, leases.endAtMs - nowMs)]),
    );
  }

  #adopt(config: Config, kind: BudgetStart["kind"]): void {
    const nowMs = this.#clock.now();
    this.quotas.change(config);
    const senders = [...config.upstreams, ...tokenRequests(config.upstreams)];
    const byBudget = sendersByBudget(senders);
    this.#longestUncountedMs = Math.max(this.#longestUncountedMs, uncountedMsOf(senders, config.budgets));
    const former = new Map(this.#absent);
    for (const [name, ledger] of this.#budgets) former.set(name, this.#recordOf(ledger));
    this.#retire(new Set(config.budgets.map((budget) => budget.name)));
    for (const budget of config.budgets) {
      const kept = this.#budgets.get(budget.name);
      const users = byBudget.get(budget.name) ?? [];
      const needs = needsOf(users);
      kept?.change(budget, needs, this.#longestUncountedMs, nowMs);
      const uncountedMs = kind === "added" ? this.#longestUncountedMs : uncountedMsOf(users, [budget]);
      const startsAtMs = kind === "first" ? this.#right?.startsAtMs(budget.name) : undefined;
      const start = {
        kind,
        startsAtMs,
        isSamePart: former.get(budget.name)?.part === partName(budget),
        uncountedMs,
        quotas: this.quotas,
        needs,
        retiredBudgets: this.#retired,
      };
      const ledger = kept ?? this.#add(new BudgetLedger(budget, start, nowMs));
      this.#inherit(ledger, users, former);
    }
    this.#budgetsOf = new Map(senders.map(({ name, budgets }) => [name, budgets]));
    this.#upstreamsOf = new Map(
      [...byBudget].map(([budget, users]) => [budget, users.map(({ name }) => name)]),
    );
  }

  #add(ledger: BudgetLedger): BudgetLedger {
    const { name } = ledger.budget;
    this.#budgets.set(name, ledger);
    this.#heirs.delete(name);
    this.#adoptRecord(ledger, this.#absent.get(name));
    this.#absent.delete(name);
    return ledger;
  }

  /** What holds back the budgets that its upstreams drew on before, and do no longer, as where it is renamed. */
  #inherit(
    ledger: BudgetLedger,
    users: readonly Pick<Upstream, "name" | "budgets">[],
    former: ReadonlyMap<string, BudgetRecord>,
  ): void {
    const left = users.flatMap(({ name, budgets }) => {
      const before = this.#budgetsOf.get(name) ?? [];
      return before.includes(ledger.budget.name) ? [] : before.filter((each) => !budgets.includes(each));
    });
    for (const name of new Set(left)) {
      this.#adoptRecord(ledger, former.get(name));
      const heirs = this.#heirs.get(name) ?? new Set();
      this.#heirs.set(name, heirs.add(ledger.budget.name));
    }
  }

  #adoptRecord(ledger: BudgetLedger, record: BudgetRecord | undefined): void {
    if (record !== undefined) ledger.adopt(heldOf(record, this.#moment, ledger.budget.maxPauseMs));
  }

  #recordOf(ledger: BudgetLedger): BudgetRecord {
    // The notes of a fleet have the terms of every budget.
    const held = this.#right === undefined ? ledger.held : { ...ledger.held, part: undefined };
    return recordOf(held, this.#moment, this.#upstreamsOf.get(ledger.budget.name));
  }

  /** The calendar of quotas does not follow a wall clock that steps for a moment. */
  get #moment(): Moment {
    return { nowMs: this.#clock.now(), wallMs: this.quotas.calendar.now() };
  }

  #get(name: string, purpose: string): BudgetLedger {
    const ledger = this.#budgets.get(name);
    if (ledger === undefined) throw new Error(`cannot ${purpose}: budget "${name}" must be in the config`);
    return ledger;
  }

  #retire(staying: ReadonlySet<string>): void {
    const leaving = [...this.#budgets].filter(([name]) => !staying.has(name));
    for (const [name, ledger] of leaving) {
      this.#budgets.delete(name);
      this.#absent.set(name, this.#recordOf(ledger));
    }
    const retired = [...this.#retired, ...leaving.map(([, ledger]) => ledger)];
    this.#retired = retired.filter((ledger) => ledger.leases.countedByMs === Infinity);
  }

  #notify(budget: string): void {
    for (const listener of this.#listeners) listener(budget);
  }
}
