import {
  type BudgetMetric,
  CATALOGUE,
  type MetricName,
  type ProcessMetric,
  REDIS_FAILURES,
} from "./catalogue.ts";
import { each, flag, histogram, labelText, one, seconds, type Series, type SeriesOf } from "./series.ts";
import type { BudgetSnapshot, FleetSnapshot, MetricsSnapshot, RateSnapshot } from "./snapshot.ts";
import type { HistogramReading } from "./histogram.ts";

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

export type FleetMetric = Extract<MetricName, `pacewatch_${"fleet" | "redis"}_${string}`>;

/** Absent without a fleet. */
const FLEET_SERIES: Readonly<Record<FleetMetric, SeriesOf<MetricsSnapshot>>> = {
  pacewatch_fleet_replicas: inFleet((fleet) => fleet.replicas),
  pacewatch_fleet_upstreams_held: inFleet((fleet) => fleet.held),
  pacewatch_fleet_moves_total: eachInFleet("direction", ["gained", "lost"], (fleet, way) => fleet.moves[way]),
  pacewatch_fleet_session_valid: inFleet((fleet) => flag(fleet.sessionValid)),
  pacewatch_redis_up: inFleet((fleet) => flag(fleet.redisUp)),
  pacewatch_redis_request_duration_seconds: ({ fleet }) =>
    fleet === undefined
      ? []
      : [...fleet.redis.durations].flatMap(([call, reading]) => durations(call, reading)),
  pacewatch_redis_errors_total: eachInFleet("kind", REDIS_FAILURES, (fleet, kind) =>
    fleet.redis.errors(kind),
  ),
};

function durations(call: string, reading: HistogramReading): readonly Series<MetricsSnapshot>[] {
  return histogram(
    CATALOGUE.pacewatch_redis_request_duration_seconds.buckets,
    [["call", call]],
    () => reading,
  );
}

function inFleet(read: (fleet: FleetSnapshot) => number | undefined): SeriesOf<MetricsSnapshot> {
  return one(({ fleet }) => (fleet === undefined ? undefined : read(fleet)));
}

function eachInFleet<Value extends string>(
  label: string,
  values: readonly Value[],
  read: (fleet: FleetSnapshot, value: Value) => number,
): SeriesOf<MetricsSnapshot> {
  return each(label, values, ({ fleet }, value) => (fleet === undefined ? undefined : read(fleet, value)));
}

/** The type asks for every metric of the catalogue that belongs to no upstream and no budget, and for no other. */
export const PROCESS_SERIES: Readonly<Record<ProcessMetric, SeriesOf<MetricsSnapshot>>> = {
  ...FLEET_SERIES,
  pacewatch_state_store_up: one((snapshot) => flag(snapshot.stateStoreUp)),
  pacewatch_config_last_reload_successful: one(({ reload }) => flag(reload.successful)),
  pacewatch_config_last_reload_success_timestamp_seconds: one(({ reload }) =>
    seconds(reload.lastSuccessAtMs),
  ),
  pacewatch_build_info: ({ build }) => [
    { suffix: "", labels: labelText(Object.entries(build)), read: () => 1 },
  ],
};
