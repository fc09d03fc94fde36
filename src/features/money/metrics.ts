import { type Counts, counterOf, Tally } from "../../kernel/metrics/accounts.ts";
import { type Add, counter, gauge, type Metrics } from "../../kernel/metrics/family.ts";
import type { BudgetSnapshot } from "../../kernel/metrics/snapshot.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import type { QuotaSnapshot } from "../quota/standing.ts";
import { COST } from "./cost.ts";
import { UNITS_OF_MONEY } from "./price.ts";

/** Billionths, by currency. */
class Spent extends Tally<string> implements Counts {
  judged({ sentAtMs, said }: Poll): void {
    const cost = COST.of(said);
    if (cost !== undefined && cost.units > 0) this.add(cost.currency, cost.units, sentAtMs);
  }
}

const COUNTER = counterOf("spent", ({ price }) => price && new Spent());

export const MONEY_METRICS: Metrics = {
  counter: COUNTER,
  upstream: {
    pacewatch_spend_total: counter(
      "What its polls cost, by its price; of a poll whose answer does not tell, the most that it may cost. Absent without a price.",
      ({ accounts, upstream: { price } }, add) =>
        COUNTER.of(accounts.counts)
          ?.with(price === undefined ? [] : [price.currency], accounts.startedAtMs)
          .forEach((spent) => add(spent.count / UNITS_OF_MONEY, { currency: spent.word }, spent)),
    ),
  },
  budget: {
    pacewatch_budget_spend_limit: gauge(
      "Money that Pacewatch may spend in the period of the budget's spend; absent without one, as are the others of it.",
      ofSpend(({ limit }) => limit),
    ),
    pacewatch_budget_spend_used: gauge(
      "Money that counts as spent, and the most that polls in flight may cost.",
      ofSpend(({ used }) => used),
    ),
    pacewatch_budget_spend_forecast: gauge(
      "Money that the schedule would spend at most within the period.",
      ofSpend(({ forecast }) => forecast),
    ),
  },
};

function ofSpend(read: (spend: QuotaSnapshot) => number): (budget: BudgetSnapshot, add: Add) => void {
  return ({ spend }, add) => {
    if (spend?.currency !== undefined) add(read(spend), { currency: spend.currency });
  };
}
