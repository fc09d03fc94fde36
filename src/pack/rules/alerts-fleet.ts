import type { FleetMode } from "../../core/config/config.ts";
import { named, OF_INSTANCE, OF_JOB, OF_UPSTREAM_EVERYWHERE, recentFailures, told } from "./alert-text.ts";
import type { Alert, RuleGroup } from "./rule.ts";

const ACROSS = "by (job, upstream)";

const VANTAGES = "pacewatch:upstream_vantages:count";
const VANTAGES_DOWN = "pacewatch:upstream_vantages_down:count";

/** What a majority of the vantages that know anything says. A vantage that is gone, or knows nothing, has no vote. */
export const QUORUM_RECORDINGS: RuleGroup = {
  name: "pacewatch-quorum",
  rules: [
    { record: VANTAGES, expr: `count ${ACROSS} (pacewatch_upstream_up)` },
    {
      record: VANTAGES_DOWN,
      // One that is throttled or refused from there is there: it is not down.
      expr: `count ${ACROSS} (
  pacewatch_upstream_up == 0
  unless ignoring (state) pacewatch_upstream_state{state=~"throttled|unauthorized"} == 1
)
or 0 * ${VANTAGES}`,
    },
    {
      record: "pacewatch:upstream_up:quorum",
      expr: `2 * ${VANTAGES_DOWN} <= bool ${VANTAGES}`,
    },
    {
      record: "pacewatch:availability:quorum5m",
      expr: `sum ${ACROSS} (increase(pacewatch_polls_total{outcome="ok"}[5m]))
  / (sum ${ACROSS} (increase(pacewatch_polls_total{outcome=~"ok|failed",reason!~"internal|unauthorized|forbidden"}[5m])) > 0)`,
    },
  ],
};

/** In place of the one that a single Pacewatch decides on alone. */
export const DOWN_BY_QUORUM: Alert = {
  alert: "PacewatchUpstreamDown",
  severity: "page",
  expr: "pacewatch:upstream_up:quorum == 0",
  summary: "{{ $labels.upstream }} is down",
  description: `{{ $labels.upstream }} is down from ${told(`${VANTAGES_DOWN}{${OF_UPSTREAM_EVERYWHERE}}`, `printf "%.0f"`, "most")} of ${told(`${VANTAGES}{${OF_UPSTREAM_EVERYWHERE}}`, `printf "%.0f"`, "all")} vantages: ${named(`pacewatch_upstream_up{${OF_UPSTREAM_EVERYWHERE}} == 0`, "vantage", "unknown")}. Failures in the last 5 minutes, by reason: ${recentFailures("5m", OF_UPSTREAM_EVERYWHERE)}. Availability from all of them in that time: ${told(`pacewatch:availability:quorum5m{${OF_UPSTREAM_EVERYWHERE}}`, "humanizePercentage", "unknown")}.`,
};

const REDIS_AWAY: Alert = {
  alert: "PacewatchRedisAway",
  severity: "ticket",
  expr: "max_over_time(pacewatch_redis_up[1m]) == 0",
  holdsFor: "2m",
  summary: "Pacewatch at {{ $labels.instance }} cannot reach Redis",
  description: `{{ $labels.instance }} has had no answer from Redis for ${told(`count_over_time((pacewatch_redis_up{${OF_INSTANCE}} == 0)[1h:1m]) * 60`, "humanizeDuration", "some time")} of the last hour. It polls from its reserve, or, where each upstream is held by one replica, not at all: of ${told(`pacewatch_fleet_upstreams_held{${OF_INSTANCE}}`, `printf "%.0f"`, "no")} upstreams it is sure now.`,
};

/** What nobody holds has no series, so no other alert can tell of it. */
function unheld(upstreams: number): Alert {
  return {
    alert: "PacewatchUpstreamsUnheld",
    severity: "page",
    expr: `sum by (job) (pacewatch_fleet_upstreams_held) < ${upstreams}`,
    holdsFor: "2m",
    summary: "Nobody watches some upstreams",
    description: `The replicas of {{ $labels.job }} hold {{ $value | printf "%.0f" }} of ${upstreams} upstreams. Nothing is known of the others. Replicas that reach Redis: ${told(`sum(pacewatch_redis_up{${OF_JOB}})`, `printf "%.0f"`, "none")} of ${told(`count(pacewatch_redis_up{${OF_JOB}})`, `printf "%.0f"`, "none")} that are scraped.`,
  };
}

export function fleetAlerts(mode: FleetMode, upstreams: number): RuleGroup {
  const rules = mode === "shard" && upstreams > 0 ? [REDIS_AWAY, unheld(upstreams)] : [REDIS_AWAY];
  return { name: "pacewatch-fleet", rules };
}
