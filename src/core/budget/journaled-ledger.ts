import type { Advice } from "../advice/advice.ts";
import type { Clock } from "../time/clock.ts";
import { hourOf, SECOND_MS } from "../time/duration.ts";
import type { Whose } from "./concern.ts";
import type { BudgetRestraint, Lease, LeaseDecision, Ledger, RunningLedger } from "./ledger.ts";
import type { QuotaRow } from "./quota.ts";
import type { Draw } from "./quotas.ts";
import { type BudgetRecord, NOTHING_HELD } from "./record.ts";

/** The port of the file that budgets are kept in. */
export interface BudgetFile {
  /** The last row of an hour replaces those before it. */
  keepQuota(row: QuotaRow): void;
  keepRecord(budget: string, record: BudgetRecord): void;
  /** Resolves when all that was kept by now is in the file, or the file is down. */
  written(): Promise<void>;
}

/**
 * Every request of a budget with a quota is in the state file before it may leave, and so is the most that it may cost.
 * So however this process is killed, none is missing after it, and too many are counted only by those that were in
 * flight. What an answer asks for is in the file before the next request of its budget.
 */
export class JournaledLedger implements Ledger {
  readonly #ledger: RunningLedger;
  readonly #file: BudgetFile;
  readonly #clock: Clock;
  /** By budget, as text: whatever differs from this is written. */
  readonly #kept = new Map<string, string>();
  readonly #unwritten = new Map<string, Promise<void>>();

  constructor(ledger: RunningLedger, file: BudgetFile, clock: Clock) {
    this.#ledger = ledger;
    this.#file = file;
    this.#clock = clock;
    ledger.quotas.onChanged((row) => file.keepQuota(row));
    ledger.onChange((budget) => this.#keepRecord(budget));
  }

  take(budgets: readonly string[], mostCost: number = 0): LeaseDecision | Promise<LeaseDecision> {
    const unwritten = budgets
      .map((budget) => this.#unwritten.get(budget))
      .filter((each) => each !== undefined);
    if (unwritten.length > 0) return Promise.all(unwritten).then(() => this.take(budgets, mostCost));
    return this.#countsOf(budgets, mostCost).length === 0
      ? this.#ledger.take(budgets, mostCost)
      : this.#takeCounted(budgets, mostCost);
  }

  restraint(budgets: readonly string[], mostCost?: number): BudgetRestraint {
    return this.#ledger.restraint(budgets, mostCost);
  }

  applyAdvice(budgets: readonly string[], advice: Advice): Whose | undefined {
    const whose = this.#ledger.applyAdvice(budgets, advice);
    for (const budget of budgets) this.#keepRecord(budget);
    return whose;
  }

  onChange(listener: (budget: string) => void): void {
    this.#ledger.onChange(listener);
  }

  #keepRecord(budget: string): void {
    const record = this.#ledger.record(budget);
    const kept = this.#kept.get(budget);
    if (record === undefined || (record === NOTHING_HELD && kept === undefined)) return;
    const text = JSON.stringify(record);
    if (text === kept) return;
    this.#kept.set(budget, text);
    this.#file.keepRecord(budget, record);
    const written = this.#file.written().finally(() => {
      if (this.#unwritten.get(budget) === written) this.#unwritten.delete(budget);
    });
    this.#unwritten.set(budget, written);
  }

  /**
   * What is reserved while the file is written keeps the place of the request in the count. The request takes that place
   * in one turn, so that never both of them count, and never neither.
   *
   *      reserved      lease             request ends
   *        |-------------|---------------------|--------------- time
   *        |----- in the file, unconfirmed ----|   used, or taken back if nothing was sent
   */
  async #takeCounted(budgets: readonly string[], mostCost: number): Promise<LeaseDecision> {
    // However often this process is killed, no more is counted than the quota allows.
    if (this.#ledger.restraint(budgets, mostCost).isQuotaSpent) return this.#ledger.take(budgets, mostCost);
    const hour = this.#hour;
    const reserved = this.#countsOf(budgets, mostCost).map(({ count, units }) => ({
      count,
      request: count.send(units),
    }));
    await this.#file.written();
    for (const { count, request } of reserved) count.end(request, 0);
    const absent = budgets.find((budget) => this.#ledger.state(budget) === undefined);
    // A reload may have removed it meanwhile: nobody may send on it any more.
    if (absent !== undefined)
      return { kind: "wait", untilMs: this.#clock.now() + SECOND_MS, cause: "ledger", budget: absent };
    // It would leave the quota with the hour in which it was reserved, and so too early.
    const isLate = this.#hour !== hour;
    // A reload may have given its budget a further quota, of which the file does not have it.
    const isMissed = this.#countsOf(budgets, mostCost).some(({ count }) =>
      reserved.every((known) => known.count !== count),
    );
    if (isLate || isMissed) return this.#takeCounted(budgets, mostCost);
    const decision = this.#ledger.take(budgets, mostCost);
    if (decision.kind === "granted") return { kind: "granted", lease: this.#journaled(decision.lease) };
    void this.#file.written();
    return decision;
  }

  #journaled(lease: Lease): Lease {
    return {
      ...lease,
      settle: (settlement) => {
        lease.settle(settlement);
        void this.#file.written();
      },
      charge: (cost) => {
        lease.charge(cost);
        void this.#file.written();
      },
    };
  }

  /** The quotas that such a request counts against, with what it takes of each. */
  #countsOf(budgets: readonly string[], mostCost: number): readonly Draw[] {
    return budgets
      .flatMap((budget) => this.#ledger.quotas.drawsOf(budget, mostCost))
      .filter(({ count }) => count.limit !== undefined);
  }

  get #hour(): number {
    return hourOf(this.#ledger.quotas.calendar.now());
  }
}
