import { type Budgets, type BudgetsParts, equipmentOf, openBudgets } from "../../src/app/features/polling.ts";
import type { Hints } from "../../src/features/hints/hints.ts";
import { MOST_COST } from "../../src/features/quota/cost.ts";
import type { Quotas } from "../../src/features/quota/quotas.ts";
import { type Ask, askFor, type Lease, type LeaseDecision } from "../../src/kernel/budget/ledger.ts";
import type { Wait } from "../../src/kernel/budget/ledger.ts";
import type { LocalLedger } from "../../src/kernel/budget/local-ledger.ts";
import type { Config } from "../../src/kernel/config/config.ts";
import { judgingOf } from "../../src/app/features/judging.ts";
import { judge } from "../../src/kernel/polling/poll-once.ts";
import type { PollingDeps } from "../../src/kernel/polling/poller.ts";
import type { Clock } from "../../src/kernel/time/clock.ts";
import { samplePoll } from "./kernel-samples.ts";

export function askOf(budgets: readonly string[], mostCost = 0): Ask {
  return askFor(budgets, mostCost === 0 ? {} : { [MOST_COST.name]: mostCost });
}

/** Its answer was read, and it did cost so much. */
export function charge(lease: Lease, units: number): void {
  lease.ended(samplePoll({ said: { cost: { currency: "EUR", units, reserved: 0 } } }));
}

/** The budgets of a process as the app opens them. */
export class TestLedger {
  readonly budgets: Budgets;
  readonly inner: LocalLedger;
  readonly hints: Hints;
  readonly quotas: Quotas;

  constructor(config: Config, clock: Clock, parts: BudgetsParts = {}) {
    this.budgets = openBudgets(config, clock, parts);
    this.inner = this.budgets.ledger;
    this.hints = this.budgets.hints;
    this.quotas = this.budgets.quotas;
  }

  /** What pollers need of it. */
  get polling(): Pick<PollingDeps, "ledger" | "equip" | "judgeLarge"> {
    return {
      ledger: this.inner,
      equip: (upstream) => equipmentOf(upstream, this.budgets),
      judgeLarge: async (upstream, observation, times) =>
        judge(upstream, observation, times, judgingOf(upstream)),
    };
  }

  /** Nothing must be written before. */
  take(budgets: readonly string[], mostCost = 0): LeaseDecision {
    const decision = this.ask(budgets, mostCost);
    if (decision instanceof Promise) throw new Error("it is written first");
    return decision;
  }

  ask(budgets: readonly string[], mostCost = 0): LeaseDecision | Promise<LeaseDecision> {
    return this.inner.take(askOf(budgets, mostCost));
  }

  waitFor(budgets: readonly string[], mostCost = 0): Wait | undefined {
    return this.inner.waitFor(askOf(budgets, mostCost));
  }

  isQuotaSpent(budgets: readonly string[], mostCost = 0): boolean {
    return this.inner.heldBack(askOf(budgets, mostCost))?.cause === "quota";
  }

  change(config: Config): void {
    this.inner.change(config);
  }

  onChange(listener: (budget: string) => void): void {
    this.inner.onChange(listener);
  }
}
