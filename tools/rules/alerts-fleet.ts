import type { FleetMode } from "../../src/core/config/config.ts";
import {
  queryLabels,
  OF_INSTANCE,
  OF_JOB,
  OF_UPSTREAM_EVERYWHERE,
  queryValue,
  reasonsOver,
} from "./alert-text.ts";
import { NOT_OFFLINE } from "./offline.ts";
import type { UpMetric } from "./replicas.ts";
import type { Alert, Recording, RuleGroup } from "./rule.ts";

const ACROSS = "by (job, upstream)";

const VANTAGES = "pacewatch:upstream_vantages:count";
const VANTAGES_DOWN = "pacewatch:upstream_vantages_down:count";

export const UP_BY_QUORUM: UpMetric = { metric: "pacewatch:upstream_up:quorum", labels: "job, upstream" };

/** The majority of vantages. A vantage that is gone or offline, or does not know the state, has no vote. */
export const QUORUM_RECORDINGS: readonly Recording[] = [
  { record: VANTAGES, expr: `count ${ACROSS} (pacewatch_upstream_up ${NOT_OFFLINE})` },
  {
    record: VANTAGES_DOWN,
    // An upstream that throttles a vantage or rejects its key does answer, and a wall hides whether it does: not down.
    expr: `count ${ACROSS} (
  pacewatch_upstream_up == 0
  unless ignoring (state) pacewatch_upstream_state{state=~"throttled|unauthorized"}
  unless pacewatch:upstream_blocked
  ${NOT_OFFLINE}
)
or 0 * ${VANTAGES}`,
  },
  {
    record: UP_BY_QUORUM.metric,
    expr: `2 * ${VANTAGES_DOWN} <= bool ${VANTAGES}`,
  },
  {
    record: "pacewatch:availability:quorum5m",
    expr: `sum ${ACROSS} (increase(pacewatch_polls_total{outcome="ok"}[5m]))
  / (sum ${ACROSS} (increase(pacewatch_polls_total{outcome=~"ok|failed"}[5m])) > 0)`,
  },
];

/** Replaces the alert of a single Pacewatch. */
export const DOWN_BY_QUORUM: Alert = {
  alert: "PacewatchUpstreamDown",
  severity: "page",
  expr: `${UP_BY_QUORUM.metric} == 0`,
  summary: "{{ $labels.upstream }} is down",
  description: `{{ $labels.upstream }} is down from ${queryValue(`${VANTAGES_DOWN}{${OF_UPSTREAM_EVERYWHERE}}`, `printf "%.0f"`, "most")} of ${queryValue(`${VANTAGES}{${OF_UPSTREAM_EVERYWHERE}}`, `printf "%.0f"`, "all")} vantages: ${queryLabels(`pacewatch_upstream_up{${OF_UPSTREAM_EVERYWHERE}} == 0 ${NOT_OFFLINE}`, "vantage", "unknown")}. Failures in the last 5 minutes, by reason: ${reasonsOver("5m", "failed", OF_UPSTREAM_EVERYWHERE)}. Availability from all vantages in that time: ${queryValue(`pacewatch:availability:quorum5m{${OF_UPSTREAM_EVERYWHERE}}`, "humanizePercentage", "unknown")}.`,
};

const REDIS_AWAY: Alert = {
  alert: "PacewatchRedisAway",
  severity: "ticket",
  expr: "max_over_time(pacewatch_redis_up[1m]) == 0",
  holdsFor: "2m",
  summary: "Pacewatch at {{ $labels.instance }} cannot reach Redis",
  description: `{{ $labels.instance }} has had no answer from Redis for ${queryValue(`count_over_time((pacewatch_redis_up{${OF_INSTANCE}} == 0)[1h:1m]) * 60`, "humanizeDuration", "some time")} of the last hour. In mode everywhere it polls slowly from its reserve. In mode shard it polls only the upstreams that it still holds: ${queryValue(`pacewatch_fleet_upstreams_held{${OF_INSTANCE}}`, `printf "%.0f"`, "none")}.`,
};

/** An upstream without a holder has no series, so no other alert can report it. */
const UNHELD: Alert = {
  alert: "PacewatchUpstreamsUnheld",
  severity: "page",
  expr: "sum by (job) (pacewatch_fleet_upstreams_held) < max by (job) (pacewatch_fleet_upstreams)",
  holdsFor: "2m",
  summary: "Some upstreams are not polled by any replica",
  description: `The replicas of {{ $labels.job }} hold {{ $value | printf "%.0f" }} of ${queryValue(`max(pacewatch_fleet_upstreams{${OF_JOB}})`, `printf "%.0f"`, "all")} upstreams. The state of the others is unknown. Replicas that reach Redis: ${queryValue(`sum(pacewatch_redis_up{${OF_JOB}})`, `printf "%.0f"`, "none")} of ${queryValue(`count(pacewatch_redis_up{${OF_JOB}})`, `printf "%.0f"`, "none")} that are scraped. Started in the last 10 minutes: ${queryLabels(`time() - process_start_time_seconds{${OF_JOB}} < 600`, "instance", "none")}.`,
};

/** Each holder keeps to the limits that it knows. */
const CONFIGS_DIFFER: Alert = {
  alert: "PacewatchFleetConfigsDiffer",
  severity: "ticket",
  expr: "max by (job) (pacewatch_fleet_configs) > 1",
  holdsFor: "30m",
  summary: "The replicas of {{ $labels.job }} run different configs",
  description: `The replicas of {{ $labels.job }} run {{ $value | printf "%.0f" }} different configs. Each keeps to the limits of its own, and upstreams that only some of them have are moved among those alone. Last reloads that failed: ${queryLabels(`pacewatch_config_last_reload_successful{${OF_JOB}} == 0`, "instance", "none")}.`,
};

export function fleetAlerts(mode: FleetMode): RuleGroup {
  return {
    name: "pacewatch-fleet",
    rules: mode === "shard" ? [REDIS_AWAY, UNHELD, CONFIGS_DIFFER] : [REDIS_AWAY, CONFIGS_DIFFER],
  };
}
