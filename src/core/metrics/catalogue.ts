/** Every metric of Pacewatch: the public contract, in this one place. Families are rendered in this order. */

import { BURN_WINDOWS, QUOTAS } from "../answer/credit.ts";
import { PHASES } from "../exchange/exchange.ts";
import { HEALTH_STATES } from "../poll/health.ts";
import { SKIP_CAUSES } from "../exchange/outcome.ts";
import { OUTCOMES, REASON_NAMES } from "../exchange/reasons.ts";

/** The final status codes of IANA's HTTP registry (2xx to 5xx), so that no upstream can add series without end. */
const REGISTERED = [
  [200, 201, 202, 203, 204, 205, 206, 207, 208, 226],
  [300, 301, 302, 303, 304, 305, 307, 308],
  [400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417],
  [421, 422, 423, 424, 425, 426, 428, 429, 431, 451],
  [500, 501, 502, 503, 504, 505, 506, 507, 508, 510, 511],
].flat();

const REGISTERED_SET: ReadonlySet<number> = new Set(REGISTERED);

/** Every value of the label `code`. */
export const CODE_LABELS: readonly string[] = [...REGISTERED.map(String), "other"];

export function codeLabel(status: number): string {
  return REGISTERED_SET.has(status) ? String(status) : "other";
}

/** Not connected; no answer in time; answered with an error. */
export const REDIS_FAILURES = ["away", "timeout", "refused"] as const;

type MetricType = "counter" | "gauge" | "histogram" | "summary";

export type Metric = {
  readonly type: MetricType;
  readonly help: string;
  /** The first label says what the metric belongs to: an upstream, a budget, or otherwise the process. */
  readonly labels: readonly string[];
  /** Upper bounds in the unit of the metric; only for histograms. */
  readonly buckets?: readonly number[];
};

export const CATALOGUE = {
  pacewatch_upstream_info: {
    type: "gauge",
    help: "Always 1, for each budget of the upstream: its budget, and the labels that the config gives it.",
    labels: ["upstream", "budget"],
  },
  pacewatch_slots_total: {
    type: "counter",
    help: "Slots that were decided. Always polls + polls in flight + skipped slots.",
    labels: ["upstream"],
  },
  pacewatch_slots_waiting: {
    type: "gauge",
    help: "Slots that wait for the right to send, not yet decided.",
    labels: ["upstream"],
  },
  pacewatch_polls_in_flight: {
    type: "gauge",
    help: "Polls that were sent or are being sent, and have no outcome yet.",
    labels: ["upstream"],
  },
  pacewatch_polls_total: {
    type: "counter",
    help: "Polls that ended, by outcome. Availability is ok / (ok + failed).",
    labels: ["upstream", "outcome"],
  },
  pacewatch_poll_reasons_total: {
    type: "counter",
    help: "Polls that were not ok, by outcome and reason. A reason exists once it has been met.",
    labels: ["upstream", "outcome", "reason"],
  },
  pacewatch_polls_skipped_total: {
    type: "counter",
    help: "Slots that ended without a poll, by cause. A cause exists once it has been met.",
    labels: ["upstream", "cause"],
  },
  pacewatch_polls_within_objective_total: {
    type: "counter",
    help: "Polls that were ok, at or under the latency objective.",
    labels: ["upstream"],
  },
  pacewatch_responses_total: {
    type: "counter",
    help: "Answers whose head arrived, by status code. Expected codes exist from the start, others once seen.",
    labels: ["upstream", "code"],
  },
  pacewatch_poll_duration_seconds: {
    type: "histogram",
    help: "Duration of whole polls, by outcome: failures keep their time too.",
    labels: ["upstream", "outcome"],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  },
  pacewatch_poll_phase_duration_seconds: {
    type: "summary",
    help: "Time spent in each phase of the polls that reached it. A phase exists once it has happened.",
    labels: ["upstream", "phase"],
  },
  pacewatch_poll_delay_seconds: {
    type: "histogram",
    help: "From the slot to the sending: spreading, pacing, and waiting for the right to send.",
    labels: ["upstream"],
    buckets: [0.05, 0.5, 5, 30],
  },
  pacewatch_upstream_up: {
    type: "gauge",
    help: "1 while the upstream answers as expected, 0 once a failure is confirmed; absent while unknown.",
    labels: ["upstream"],
  },
  pacewatch_upstream_state: {
    type: "gauge",
    help: "The upstream's health: always 1, for the present state only.",
    labels: ["upstream", "state"],
  },
  pacewatch_last_poll_timestamp_seconds: {
    type: "gauge",
    help: "When the last poll ended; absent before the first.",
    labels: ["upstream"],
  },
  pacewatch_last_success_timestamp_seconds: {
    type: "gauge",
    help: "When the last poll that was ok ended; absent before the first.",
    labels: ["upstream"],
  },
  pacewatch_next_slot_timestamp_seconds: {
    type: "gauge",
    help: "When the next slot of the schedule is due.",
    labels: ["upstream"],
  },
  pacewatch_schedule_period_seconds: {
    type: "gauge",
    help: "The longest gap between two slots that the schedule allows.",
    labels: ["upstream"],
  },
  pacewatch_stalled_after_seconds: {
    type: "gauge",
    help: "How long without a poll is a stall: three of the longest gaps, the silence of a new budget, and a minute.",
    labels: ["upstream"],
  },
  pacewatch_confirm_polls: {
    type: "gauge",
    help: "Further polls that must fail too before a failure is confirmed, from the config.",
    labels: ["upstream"],
  },
  pacewatch_tls_certificate_expiry_timestamp_seconds: {
    type: "gauge",
    help: "When the earliest to expire of the certificates in the chain does; absent until one was seen.",
    labels: ["upstream"],
  },
  pacewatch_upstream_deprecation_timestamp_seconds: {
    type: "gauge",
    help: "Since when the API is deprecated, by its own word, or when it first said so without a date; absent if it does not.",
    labels: ["upstream"],
  },
  pacewatch_upstream_sunset_timestamp_seconds: {
    type: "gauge",
    help: "When the API is expected to stop answering, by its own word; absent if it does not say.",
    labels: ["upstream"],
  },
  pacewatch_upstream_value: {
    type: "gauge",
    help: "A number that the answers tell, as `values` in the config names it; absent once not seen for three periods (at least 10 minutes).",
    labels: ["upstream", "name", "unit"],
  },
  pacewatch_upstream_value_timestamp_seconds: {
    type: "gauge",
    help: "When the value was last seen; absent with it.",
    labels: ["upstream", "name"],
  },
  pacewatch_upstream_credit_burn_per_second: {
    type: "gauge",
    help: "How fast a credit went down over the window, refills left out; absent until half of the window is known.",
    labels: ["upstream", "name", "window"],
  },
  pacewatch_upstream_credit_empty_timestamp_seconds: {
    type: "gauge",
    help: "When a credit runs out at the pace of the window; absent if not within a year.",
    labels: ["upstream", "name", "window"],
  },
  pacewatch_objective_ratio: {
    type: "gauge",
    help: "Availability objective from the config: the share of polls that should be ok.",
    labels: ["upstream"],
  },
  pacewatch_objective_latency_seconds: {
    type: "gauge",
    help: "Latency objective from the config.",
    labels: ["upstream"],
  },
  pacewatch_budget_limit_requests: {
    type: "gauge",
    help: "Requests that the upstream's owner allows within the period.",
    labels: ["budget", "per"],
  },
  pacewatch_budget_cap_requests: {
    type: "gauge",
    help: "Requests that Pacewatch allows itself within the period: its share of the limit, less when told.",
    labels: ["budget", "per"],
  },
  pacewatch_budget_leases: {
    type: "gauge",
    help: "Leases that are held now: each is the right to one request, kept until it can no longer count.",
    labels: ["budget", "per"],
  },
  pacewatch_budget_advertised_limit_requests: {
    type: "gauge",
    help: "The limit that the upstream last told; absent until it tells one.",
    labels: ["budget"],
  },
  pacewatch_budget_advertised_remaining_requests: {
    type: "gauge",
    help: "What was left of the limit, as the upstream last told; absent until it tells.",
    labels: ["budget"],
  },
  pacewatch_budget_paused_until_timestamp_seconds: {
    type: "gauge",
    help: "Until when the upstream asked for silence; 0 when it does not.",
    labels: ["budget"],
  },
  pacewatch_budget_quota_limit_requests: {
    type: "gauge",
    help: "Requests that Pacewatch's own long quota allows; absent without one.",
    labels: ["budget"],
  },
  pacewatch_budget_quota_used_requests: {
    type: "gauge",
    help: "Requests of the long quota that are spent.",
    labels: ["budget"],
  },
  pacewatch_budget_quota_unconfirmed_requests: {
    type: "gauge",
    help: "Those of the used ones that were in flight when Pacewatch was killed: they may have been sent, or not.",
    labels: ["budget"],
  },
  pacewatch_budget_quota_forecast_requests: {
    type: "gauge",
    help: "Requests that the schedule would spend within the quota's period.",
    labels: ["budget"],
  },
  pacewatch_budget_quota_burn_per_second: {
    type: "gauge",
    help: "The part of a quota that was spent per second over the window: our own, or one of a day, a week or a month and more that answers tell; absent until half of the window is known.",
    labels: ["budget", "quota", "window"],
  },
  pacewatch_budget_quota_empty_timestamp_seconds: {
    type: "gauge",
    help: "When a quota is used up at the pace of the window; absent if it refills before.",
    labels: ["budget", "quota", "window"],
  },
  pacewatch_signals_malformed_total: {
    type: "counter",
    help: "Rate-limit signals in answers that could not be read, and were ignored.",
    labels: ["upstream"],
  },
  pacewatch_state_store_up: {
    type: "gauge",
    help: "1 while state can be written, 0 while it cannot; absent without a state file.",
    labels: [],
  },
  pacewatch_offline_upstreams: {
    type: "gauge",
    help: "Upstreams that cannot be reached because Pacewatch itself is offline; 0 while any upstream answers.",
    labels: [],
  },
  pacewatch_fleet_replicas: {
    type: "gauge",
    help: "Replicas that live, as this one knows; absent without a fleet, as are the others of it.",
    labels: [],
  },
  pacewatch_fleet_upstreams: {
    type: "gauge",
    help: "Upstreams in the config of this replica, for all replicas together to poll.",
    labels: [],
  },
  pacewatch_fleet_upstreams_held: {
    type: "gauge",
    help: "Upstreams that this replica polls.",
    labels: [],
  },
  pacewatch_fleet_moves_total: {
    type: "counter",
    help: "Upstreams that came to this replica, and that it let go of.",
    labels: ["direction"],
  },
  pacewatch_fleet_session_valid: {
    type: "gauge",
    help: "1 while this replica is sure of its place in the fleet, 0 while it is not: in shard it polls nothing then.",
    labels: [],
  },
  pacewatch_fleet_reserve_available: {
    type: "gauge",
    help: "1 while this replica may poll from its reserve when Redis is away, 0 while other replicas have all reserves; absent where none is set aside.",
    labels: [],
  },
  pacewatch_redis_up: {
    type: "gauge",
    help: "1 while Redis answers every call, writes included; 0 while it does not, and until it has for some time.",
    labels: [],
  },
  pacewatch_redis_request_duration_seconds: {
    type: "histogram",
    help: "Duration of the calls to Redis, by call. A call exists once it has been made.",
    labels: ["call"],
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5],
  },
  pacewatch_redis_errors_total: {
    type: "counter",
    help: "Calls to Redis without a good answer: it was away, late, or refused.",
    labels: ["kind"],
  },
  pacewatch_config_last_reload_successful: {
    type: "gauge",
    help: "1 when the last load of the config succeeded, 0 when the old one runs on.",
    labels: [],
  },
  pacewatch_config_last_reload_success_timestamp_seconds: {
    type: "gauge",
    help: "When the config was last loaded with success.",
    labels: [],
  },
  pacewatch_build_info: {
    type: "gauge",
    help: "Always 1: the versions of Pacewatch and of Node.js.",
    labels: ["version", "node"],
  },
} as const;

export type MetricName = keyof typeof CATALOGUE;

type OwnedBy<Owner extends string> = {
  [Name in MetricName]: (typeof CATALOGUE)[Name]["labels"] extends readonly [Owner, ...(readonly string[])]
    ? Name
    : never;
}[MetricName];

export type UpstreamMetric = OwnedBy<"upstream">;
export type BudgetMetric = OwnedBy<"budget">;
/** Of the process itself, and of its place in a fleet. */
export type ProcessMetric = Exclude<MetricName, UpstreamMetric | BudgetMetric>;

export const METRIC_NAMES: readonly MetricName[] = Object.keys(CATALOGUE).filter(isMetricName);

function isMetricName(name: string): name is MetricName {
  return Object.hasOwn(CATALOGUE, name);
}

export function metricNamed(name: MetricName): Metric {
  return CATALOGUE[name];
}

/** Labels whose values are a closed set, whichever metric carries them. */
export const CLOSED_LABELS: Readonly<Record<string, readonly string[]>> = {
  outcome: OUTCOMES,
  reason: REASON_NAMES,
  cause: SKIP_CAUSES,
  code: CODE_LABELS,
  phase: PHASES,
  state: HEALTH_STATES,
  direction: ["gained", "lost"],
  kind: REDIS_FAILURES,
  window: BURN_WINDOWS,
  quota: QUOTAS,
};

export type RedisFailure = (typeof REDIS_FAILURES)[number];
