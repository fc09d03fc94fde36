import type { Advice } from "../advice/advice.ts";
import { BudgetLedger } from "./budget-ledger.ts";
import type { BudgetRestraint, BudgetStanding, LeaseDecision, RunningLedger } from "./ledger.ts";
import type { Clock } from "../time/clock.ts";
import type { Budget, Config, Upstream } from "../config/config.ts";
import type { QuotaBuckets } from "./quota.ts";

/** How long after its sending a request can still be counted: timeout and linger. */
function afterlifeMs(upstreams: readonly Upstream[], budgets: readonly Budget[]): number {
  const timeoutMs = Math.max(0, ...upstreams.map((upstream) => upstream.timeoutMs));
  return timeoutMs + Math.max(0, ...budgets.map((budget) => budget.lingerMs));
}

/** The ledger of a single process: every budget in memory. */
export class LocalLedger implements RunningLedger {
  readonly #clock: Clock;
  /** The calendar of the start, carried on by the monotonic clock: a stepped wall clock moves no quota. */
  readonly #calendarOffsetMs: number;
  readonly #budgets = new Map<string, BudgetLedger>();
  /** Taken away by a reload with requests still on their way. */
  #retired: readonly BudgetLedger[] = [];
  /** Of budgets that are not in the config now: one that comes back goes on counting. */
  readonly #absentQuotas: Map<string, QuotaBuckets>;
  readonly #listeners: ((budget: string) => void)[] = [];
  /** The longest that any request of this life may go on after it was sent, uncounted. It never shrinks. */
  #longestAfterlifeMs = 0;

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
      if (settlement === "unsent") this.#tell(budget);
    });
  }

  heed(budget: string, advice: Advice): void {
    this.#budgets.get(budget)?.heed(advice, this.#clock.now());
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

  standing(budget: string): BudgetStanding | undefined {
    const nowMs = this.#clock.now();
    return this.#budgets.get(budget)?.standing(nowMs, this.#calendarMs(nowMs));
  }

  quotaBuckets(budget: string): QuotaBuckets | undefined {
    return this.#budgets.get(budget)?.quotaBuckets;
  }

  /** What stays keeps its leases; what is added or renamed waits until the unknown past is forgotten. */
  change(config: Config): void {
    this.#adopt(config, "added");
    for (const budget of config.budgets) this.#tell(budget.name);
  }

  #adopt(config: Config, kind: "first" | "added"): void {
    const nowMs = this.#clock.now();
    this.#longestAfterlifeMs = Math.max(
      this.#longestAfterlifeMs,
      afterlifeMs(config.upstreams, config.budgets),
    );
    this.#retire(new Set(config.budgets.map((budget) => budget.name)));
    for (const budget of config.budgets) {
      const kept = this.#budgets.get(budget.name);
      if (kept !== undefined) {
        kept.change(budget, this.#longestAfterlifeMs, nowMs);
        continue;
      }
      const drawers = config.upstreams.filter((upstream) => upstream.budget === budget.name);
      const uncountedMs = kind === "first" ? afterlifeMs(drawers, [budget]) : this.#longestAfterlifeMs;
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

  #tell(budget: string): void {
    for (const listener of this.#listeners) listener(budget);
  }
}
