import type { Advice } from "../advice/advice.ts";
import { BudgetLedger } from "./budget-ledger.ts";
import type { BudgetRestraint, BudgetState, LeaseDecision, RunningLedger } from "./ledger.ts";
import type { Clock } from "../time/clock.ts";
import type { Budget, Config, Upstream } from "../config/config.ts";
import { longestTimeoutMs } from "../config/oauth2.ts";
import type { QuotaBuckets } from "./quota.ts";

/** How long after it was sent a request can still be counted: timeout and linger. */
function uncountedMsOf(upstreams: readonly Upstream[], budgets: readonly Budget[]): number {
  const timeoutMs = Math.max(0, ...budgets.map(({ name }) => longestTimeoutMs(upstreams, name)));
  return timeoutMs + Math.max(0, ...budgets.map((budget) => budget.lingerMs));
}

/** The ledger of a single process: every budget in memory. */
export class LocalLedger implements RunningLedger {
  readonly #clock: Clock;
  /** The calendar at the start plus the monotonic clock: a stepped wall clock does not change a quota. */
  readonly #calendarOffsetMs: number;
  readonly #budgets = new Map<string, BudgetLedger>();
  /** Removed by a reload while requests were in flight. */
  #retired: readonly BudgetLedger[] = [];
  /** Of budgets that are not in the config now. One that comes back continues its count. */
  readonly #absentQuotas: Map<string, QuotaBuckets>;
  readonly #listeners: ((budget: string) => void)[] = [];
  /** The longest time in this process after which a sent request may still be counted. It never shrinks. */
  #longestUncountedMs = 0;

  constructor(config: Config, clock: Clock, quotaBuckets: ReadonlyMap<string, QuotaBuckets> = new Map()) {
    this.#clock = clock;
    this.#calendarOffsetMs = clock.wallNow() - clock.now();
    this.#absentQuotas = new Map(quotaBuckets);
    this.#adopt(config, "first");
  }

  take(budget: string): LeaseDecision {
    const ledger = this.#budgets.get(budget);
    if (ledger === undefined)
      throw new Error(`cannot take a lease: budget "${budget}" must be in the config`);
    const nowMs = this.#clock.now();
    return ledger.take(nowMs, this.#calendarMs(nowMs), (settlement) => {
      ledger.settle(settlement, this.#clock.now());
      if (settlement === "unsent") this.#notify(budget);
    });
  }

  applyAdvice(budget: string, advice: Advice): void {
    this.#budgets.get(budget)?.applyAdvice(advice, this.#clock.now());
  }

  resume(budget: string): boolean {
    const ledger = this.#budgets.get(budget);
    ledger?.resume();
    this.#notify(budget);
    return ledger !== undefined;
  }

  restraint(budget: string): BudgetRestraint {
    const nowMs = this.#clock.now();
    const ledger = this.#budgets.get(budget);
    if (ledger === undefined) throw new Error(`cannot ask a budget: "${budget}" must be in the config`);
    return ledger.restraint(nowMs, this.#calendarMs(nowMs));
  }

  onChange(listener: (budget: string) => void): void {
    this.#listeners.push(listener);
  }

  state(budget: string): BudgetState | undefined {
    const nowMs = this.#clock.now();
    return this.#budgets.get(budget)?.state(nowMs, this.#calendarMs(nowMs));
  }

  quotaBuckets(budget: string): QuotaBuckets | undefined {
    return this.#budgets.get(budget)?.quotaBuckets;
  }

  change(config: Config): void {
    this.#adopt(config, "added");
    for (const budget of config.budgets) this.#notify(budget.name);
  }

  #adopt(config: Config, kind: "first" | "added"): void {
    const nowMs = this.#clock.now();
    this.#longestUncountedMs = Math.max(
      this.#longestUncountedMs,
      uncountedMsOf(config.upstreams, config.budgets),
    );
    this.#retire(new Set(config.budgets.map((budget) => budget.name)));
    for (const budget of config.budgets) {
      const kept = this.#budgets.get(budget.name);
      if (kept !== undefined) {
        kept.change(budget, this.#longestUncountedMs, nowMs);
        continue;
      }
      const uncountedMs =
        kind === "first" ? uncountedMsOf(config.upstreams, [budget]) : this.#longestUncountedMs;
      const quotaBuckets = this.#absentQuotas.get(budget.name);
      this.#absentQuotas.delete(budget.name);
      const start = { kind, uncountedMs, quotaBuckets, retiredBudgets: this.#retired };
      this.#budgets.set(budget.name, new BudgetLedger(budget, start, nowMs));
    }
  }

  #retire(staying: ReadonlySet<string>): void {
    const leaving = [...this.#budgets].filter(([name]) => !staying.has(name));
    for (const [name, ledger] of leaving) {
      this.#budgets.delete(name);
      this.#absentQuotas.set(name, ledger.quotaBuckets);
    }
    const retired = [...this.#retired, ...leaving.map(([, ledger]) => ledger)];
    this.#retired = retired.filter((ledger) => ledger.countedByMs === Infinity);
  }

  #calendarMs(nowMs: number): number {
    return this.#calendarOffsetMs + nowMs;
  }

  #notify(budget: string): void {
    for (const listener of this.#listeners) listener(budget);
  }
}
