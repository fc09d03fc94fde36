import type { Advice } from "../advice/advice.ts";
import type { Clock } from "../time/clock.ts";
import {
  type BudgetRestraint,
  type Ledger,
  type LeaseDecision,
  type RunningLedger,
  type Settlement,
  type Wait,
} from "./ledger.ts";
import { CLAIM_MS, type QuotaRow } from "./quota.ts";
import { type Draw, drawsOf } from "./quotas.ts";
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
    const counted = budgets
      .flatMap((budget) => drawsOf(budget, mostCost))
      .filter(({ quota }) => this.#ledger.quotas.of(quota).limit !== undefined);
    return counted.length === 0
      ? this.#ledger.take(budgets, mostCost)
      : this.#takeCounted(budgets, mostCost, counted);
  }

  restraint(budgets: readonly string[], mostCost?: number): BudgetRestraint {
    return this.#ledger.restraint(budgets, mostCost);
  }

  applyAdvice(budgets: readonly string[], advice: Advice): void {
    this.#ledger.applyAdvice(budgets, advice);
    for (const budget of budgets) this.#keepRecord(budget);
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

  async #takeCounted(
    budgets: readonly string[],
    mostCost: number,
    counted: readonly Draw[],
  ): Promise<LeaseDecision> {
    const spent = counted.map((draw) => this.#spentWait(draw)).find((wait) => wait !== undefined);
    if (spent !== undefined) return spent;
    const withdraw = await this.#claim(counted);
    let decision: LeaseDecision;
    try {
      const taken = this.#absentWait(budgets) ?? this.#ledger.take(budgets, mostCost);
      // Without a pause in between, a request is never both claimed and counted.
      decision = taken instanceof Promise ? await taken : taken;
    } finally {
      withdraw();
    }
    if (decision.kind === "wait") {
      void this.#file.written();
      return decision;
    }
    const { lease } = decision;
    const journaled = {
      ...lease,
      settle: (settlement: Settlement): void => {
        lease.settle(settlement);
        void this.#file.written();
      },
      charge: (cost: number): void => {
        lease.charge(cost);
        void this.#file.written();
      },
    };
    return { kind: "granted", lease: journaled };
  }

  /** Claimed again after a stop: a claim must not leave the quota before its request does. */
  async #claim(counted: readonly Draw[]): Promise<() => void> {
    for (;;) {
      const claims = counted.map(({ quota, units }) => {
        const count = this.#ledger.quotas.of(quota);
        return { count, claim: count.claim(units) };
      });
      const withdraw = (): void => {
        for (const { count, claim } of claims) count.withdraw(claim);
      };
      const claimedMs = this.#clock.now();
      await this.#file.written();
      if (this.#clock.now() - claimedMs <= CLAIM_MS / 2) return withdraw;
      withdraw();
    }
  }

  /**
   * Nothing is claimed of a quota beyond what is left of it: however often it is killed, that is all that it counts.
   */
  #spentWait({ quota, budget, units }: Draw): Wait | undefined {
    const { limit, claimed } = this.#ledger.quotas.of(quota);
    const used = this.#ledger.usedOf(quota) ?? 0;
    if (used + claimed + units <= (limit?.most ?? Infinity)) return undefined;
    const { paceGapMs } = this.#ledger.restraint([budget]);
    return { kind: "wait", untilMs: this.#clock.now() + paceGapMs, cause: "quota", budget };
  }

  /** A reload may remove a budget while a claim is written: then nobody may send on it. */
  #absentWait(budgets: readonly string[]): Wait | undefined {
    const budget = budgets.find((each) => this.#ledger.state(each) === undefined);
    if (budget === undefined) return undefined;
    return { kind: "wait", untilMs: this.#clock.now() + CLAIM_MS, cause: "ledger", budget };
  }
}
