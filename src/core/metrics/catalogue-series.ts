import {
  CATALOGUE,
  type UpstreamMetric,
  CODE_LABELS,
  codeLabel,
  type BudgetMetric,
  type MetricName,
  type ProcessMetric,
  REDIS_FAILURES,
} from "./catalogue.ts";
import { type Burn, BURN_WINDOWS } from "../answer/credit.ts";
import type { Value } from "../config/config.ts";
import { PHASES } from "../exchange/exchange.ts";
import { HEALTH_STATES } from "../poll/health.ts";
import { SKIP_CAUSES } from "../exchange/outcome.ts";
import { OUTCOMES, REASON_NAMES, REASONS } from "../exchange/reasons.ts";
import {
  all,
  each,
  flag,
  histogram,
  labelText,
  one,
  seconds,
  type Labels,
  type SeriesOf,
  type Series,
} from "./series.ts";
import type {
  UpstreamSnapshot,
  BudgetSnapshot,
  FleetSnapshot,
  MetricsSnapshot,
  RateSnapshot,
} from "./snapshot.ts";
import type { HistogramReading } from "./histogram.ts";

/** The type requires exactly the metrics of the catalogue that belong to an upstream. */
export const UPSTREAM_SERIES: Readonly<Record<UpstreamMetric, SeriesOf<UpstreamSnapshot>>> = {
  pacewatch_upstream_info: ({ upstream }) =>
    upstream.budgets.map((budget) => ({
      suffix: "",
      labels: labelText([["budget", budget], ...ownLabels(upstream.labels)]),
      read: () => 1,
    })),
  pacewatch_slots_total: one(({ accounts }) => accounts.slots),
  pacewatch_slots_waiting: one(({ accounts }) => accounts.waiting),
  pacewatch_polls_in_flight: one(({ accounts }) => accounts.inFlight),
  pacewatch_polls_total: each("outcome", OUTCOMES, ({ accounts }, outcome) => accounts.polls(outcome)),
  pacewatch_poll_reasons_total: all(
    REASON_NAMES.map((reason) => ({
      suffix: "",
      labels: labelText([
        ["outcome", REASONS[reason].outcome],
        ["reason", reason],
      ]),
      read: ({ accounts }) => accounts.pollsBecauseOf(reason),
    })),
  ),
  pacewatch_polls_skipped_total: each(
    "cause",
    SKIP_CAUSES,
    ({ accounts }, cause) => accounts.skipped(cause) || undefined,
  ),
  pacewatch_polls_within_objective_total: one(({ accounts }) => accounts.withinObjective),
  pacewatch_responses_total: each("code", CODE_LABELS, responses),
  pacewatch_poll_duration_seconds: all(
    OUTCOMES.flatMap((outcome) =>
      histogram(
        CATALOGUE.pacewatch_poll_duration_seconds.buckets,
        [["outcome", outcome]],
        ({ accounts }: UpstreamSnapshot) => accounts.duration(outcome),
      ),
    ),
  ),
  pacewatch_poll_phase_duration_seconds: all(
    PHASES.flatMap((phase) => [
      {
        suffix: "_sum" as const,
        labels: labelText([["phase", phase]]),
        read: ({ accounts }) => accounts.phase(phase)?.sumSeconds,
      },
      {
        suffix: "_count" as const,
        labels: labelText([["phase", phase]]),
        read: ({ accounts }) => accounts.phase(phase)?.count,
      },
    ]),
  ),
  pacewatch_poll_delay_seconds: all(
    histogram(CATALOGUE.pacewatch_poll_delay_seconds.buckets, [], ({ accounts }) => accounts.delay),
  ),
  pacewatch_upstream_up: one(({ health }) => flag(health.up)),
  pacewatch_upstream_state: each("state", HEALTH_STATES, ({ health }, state) =>
    health.state === state ? 1 : undefined,
  ),
  pacewatch_last_poll_timestamp_seconds: one(({ accounts }) => seconds(accounts.lastPollAtMs)),
  pacewatch_last_success_timestamp_seconds: one(({ accounts }) => seconds(accounts.lastSuccessAtMs)),
  pacewatch_next_slot_timestamp_seconds: one(({ nextSlotAtMs }) => seconds(nextSlotAtMs)),
  pacewatch_schedule_period_seconds: one(({ upstream }) => seconds(upstream.schedule.longestGapMs)),
  pacewatch_stalled_after_seconds: one(({ stalledAfterMs }) => seconds(stalledAfterMs)),
  pacewatch_confirm_polls: one(({ upstream }) => upstream.confirm),
  pacewatch_tls_certificate_expiry_timestamp_seconds: one(({ accounts }) =>
    seconds(accounts.certificateExpiresAtMs),
  ),
  pacewatch_upstream_deprecation_timestamp_seconds: one(({ accounts }) => seconds(accounts.deprecatedAtMs)),
  pacewatch_upstream_sunset_timestamp_seconds: one(({ accounts }) => seconds(accounts.sunsetAtMs)),
  pacewatch_upstream_value: eachValue(({ name, unit }, place) => [
    {
      suffix: "",
      labels: labelText([
        ["name", name],
        ["unit", unit],
      ]),
      read: ({ values }) => values?.[place]?.value,
    },
  ]),
  pacewatch_upstream_value_timestamp_seconds: eachValue(({ name }, place) => [
    {
      suffix: "",
      labels: labelText([["name", name]]),
      read: ({ values }) => seconds(values?.[place]?.seenAtMs),
    },
  ]),
  pacewatch_upstream_credit_burn_per_second: eachBurn((burn) => burn.perSecond),
  pacewatch_upstream_credit_empty_timestamp_seconds: eachBurn((burn) => seconds(burn.emptyAtMs)),
  pacewatch_objective_ratio: one(({ upstream }) => upstream.objective.availability),
  pacewatch_objective_latency_seconds: one(({ upstream }) => seconds(upstream.objective.latencyMs)),
  pacewatch_signals_malformed_total: one(({ accounts }) => accounts.malformedSignals),
};

/** An expected code exists from the start, so that its first answer shows in a rate; others once seen. */
function responses({ accounts, upstream }: UpstreamSnapshot, code: string): number | undefined {
  const count = accounts.responses(code);
  return count > 0 ||
    upstream.expect.status.some((status) => typeof status === "number" && codeLabel(status) === code)
    ? count
    : undefined;
}

const NO_SERIES: readonly Series<UpstreamSnapshot>[] = [];

/** For each value of the config, at its place. */
function eachValue(
  seriesOf: (value: Value, place: number) => readonly Series<UpstreamSnapshot>[],
): SeriesOf<UpstreamSnapshot> {
  return ({ upstream }) => upstream.values?.flatMap(seriesOf) ?? NO_SERIES;
}

function eachBurn(read: (burn: Burn) => number | undefined): SeriesOf<UpstreamSnapshot> {
  return eachValue(({ name, credit }, place) =>
    (credit ? BURN_WINDOWS : []).map((window, index) => ({
      suffix: "",
      labels: labelText([
        ["name", name],
        ["window", window],
      ]),
      read: ({ values }) => {
        const burn = values?.[place]?.burns[index];
        return burn === undefined ? undefined : read(burn);
      },
    })),
  );
}

/** One label that Prometheus cannot read would make it drop the whole scrape. */
function ownLabels(labels: Readonly<Record<string, string>>): Labels {
  return Object.entries(labels).filter(
    ([name]) => /^(?!__)[A-Za-z_][A-Za-z0-9_]*$/.test(name) && name !== "upstream" && name !== "budget",
  );
}

/** The type requires exactly the metrics of the catalogue that belong to a budget. */
export const BUDGET_SERIES: Readonly<Record<BudgetMetric, SeriesOf<BudgetSnapshot>>> = {
  pacewatch_budget_limit_requests: perRate((rate) => rate.limit),
  pacewatch_budget_cap_requests: perRate((rate) => rate.cap),
  pacewatch_budget_leases: perRate((rate) => rate.leases),
  pacewatch_budget_advertised_limit_requests: one((budget) => budget.advertisedLimit),
  pacewatch_budget_advertised_remaining_requests: one((budget) => budget.advertisedRemaining),
  pacewatch_budget_paused_until_timestamp_seconds: one((budget) => seconds(budget.pausedUntilWallMs)),
  pacewatch_budget_quota_limit_requests: one((budget) => budget.quota?.limit),
  pacewatch_budget_quota_used_requests: one((budget) => budget.quota?.used),
  pacewatch_budget_quota_unconfirmed_requests: one((budget) => budget.quota?.unconfirmed),
  pacewatch_budget_quota_forecast_requests: one((budget) => budget.quota?.forecast),
  pacewatch_budget_quota_burn_per_second: perQuota((burn) => burn.perSecond),
  pacewatch_budget_quota_empty_timestamp_seconds: perQuota((burn) => seconds(burn.emptyAtMs)),
};

function perQuota(read: (burn: Burn) => number | undefined): SeriesOf<BudgetSnapshot> {
  return ({ quotas = [] }) =>
    quotas.flatMap(({ quota, burns }) =>
      burns.map((burn) => ({
        suffix: "",
        labels: labelText([
          ["quota", quota],
          ["window", burn.window],
        ]),
        read: () => read(burn),
      })),
    );
}

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
  pacewatch_fleet_upstreams: inFleet((fleet) => fleet.upstreams),
  pacewatch_fleet_upstreams_held: inFleet((fleet) => fleet.held),
  pacewatch_fleet_moves_total: eachInFleet("direction", ["gained", "lost"], (fleet, way) => fleet.moves[way]),
  pacewatch_fleet_session_valid: inFleet((fleet) => flag(fleet.sessionValid)),
  pacewatch_fleet_reserve_available: inFleet(({ hasReserve }) =>
    hasReserve === undefined ? undefined : flag(hasReserve),
  ),
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

/** The type requires exactly the metrics of the catalogue that belong to neither. */
export const PROCESS_SERIES: Readonly<Record<ProcessMetric, SeriesOf<MetricsSnapshot>>> = {
  ...FLEET_SERIES,
  pacewatch_state_store_up: one((snapshot) => flag(snapshot.stateStoreUp)),
  pacewatch_offline_upstreams: one(({ offlineUpstreams }) => offlineUpstreams),
  pacewatch_config_last_reload_successful: one(({ reload }) => flag(reload.successful)),
  pacewatch_config_last_reload_success_timestamp_seconds: one(({ reload }) =>
    seconds(reload.lastSuccessAtMs),
  ),
  pacewatch_build_info: ({ build }) => [
    { suffix: "", labels: labelText(Object.entries(build)), read: () => 1 },
  ],
};
