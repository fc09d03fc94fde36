import type { BudgetMetric } from "./catalogue.ts";
import { labelText, one, seconds, type SeriesOf } from "./series.ts";
import type { BudgetSnapshot, RateSnapshot } from "./snapshot.ts";

/** The type asks for every metric of the catalogue that belongs to a budget, and for no other. */
export const BUDGET_SERIES: Readonly<Record<BudgetMetric, SeriesOf<BudgetSnapshot>>> = {
  pacewatch_budget_limit_requests: perRate((rate) => rate.limit),
  pacewatch_budget_cap_requests: perRate((rate) => rate.cap),
  pacewatch_budget_leases: perRate((rate) => rate.leases),
  pacewatch_budget_advertised_limit_requests: one((budget) => budget.advertisedLimit),
  pacewatch_budget_advertised_remaining_requests: one((budget) => budget.advertisedRemaining),
  pacewatch_budget_paused_until_timestamp_seconds: one((budget) => seconds(budget.pausedUntilWallMs)),
  pacewatch_budget_quota_limit_requests: one((budget) => budget.quota?.limit),
  pacewatch_budget_quota_used_requests: one((budget) => budget.quota?.used),
  pacewatch_budget_quota_forecast_requests: one((budget) => budget.quota?.forecast),
};

function perRate(read: (rate: RateSnapshot) => number): SeriesOf<BudgetSnapshot> {
  return (budget) =>
    budget.rates.map((rate) => ({
      suffix: "",
      labels: labelText([["per", rate.label]]),
      read: () => read(rate),
    }));
}
