import { OF_INSTANCE, OF_JOB, queryLabels, queryValue } from "./alert-text.ts";
import { downTargets, RESTARTING_OF_SEVERAL } from "./alerts-pacewatch.ts";
import type { Alert, RuleGroup } from "./rule.ts";

/** Who stands by has no series of upstreams, so no other alert can report that nobody polls. */
const UNLED: Alert = {
  alert: "PacewatchUnled",
  severity: "page",
  expr: `max by (job) (pacewatch_leader) == 0
or
count by (job) (${downTargets()}) unless on (job) pacewatch_leader`,
  holdsFor: "2m",
  summary: "No process of {{ $labels.job }} leads: nothing is polled",
  description: `Of {{ $labels.job }}, ${queryValue(`count(pacewatch_leader{${OF_JOB}})`, `printf "%.0f"`, "no")} processes stand by, and none leads. The state of all upstreams is unknown. Processes that reach the lock: ${queryValue(`sum(pacewatch_lock_up{${OF_JOB}})`, `printf "%.0f"`, "none")}. Started in the last 10 minutes: ${queryLabels(`time() - process_start_time_seconds{${OF_JOB}} < 600`, "instance", "none")}.`,
};

/**
 * Where Prometheus itself restarts, it goes on with what a process that is gone meanwhile said last, for five minutes. In
 * two, one that is there was scraped.
 */
export function seenLately(metric: string): string {
  return `${metric} and last_over_time(${metric}[2m])`;
}

/** Each of them uses the whole share. */
const LED_TWICE: Alert = {
  alert: "PacewatchLedTwice",
  severity: "page",
  expr: `sum by (job) (${seenLately("pacewatch_leader")}) > 1`,
  holdsFor: "2m",
  summary: "{{ $value }} processes of {{ $labels.job }} say that they lead",
  description: `All of these poll: ${queryLabels(`pacewatch_leader{${OF_JOB}} == 1`, "instance", "none")}. Together they may exceed the limits.`,
};

export const LOCK_AWAY: Alert = {
  alert: "PacewatchLockAway",
  severity: "ticket",
  expr: "max_over_time(pacewatch_lock_up[1m]) == 0",
  holdsFor: "2m",
  summary: "Pacewatch at {{ $labels.instance }} cannot reach its lock",
  description: `{{ $labels.instance }} has had no answer from the lock for ${queryValue(`count_over_time((pacewatch_lock_up{${OF_INSTANCE}} == 0)[1h:1m]) * 60`, "humanizeDuration", "some time")} of the last hour. It cannot lead meanwhile. Leads now: ${queryLabels(`pacewatch_leader{${OF_JOB}} == 1`, "instance", "nobody")}.`,
};

/** By what Prometheus itself knows: a process that is gone tells nothing. */
const FEWER: Alert = {
  alert: "PacewatchFleetReduced",
  severity: "ticket",
  expr: `count by (job) (${downTargets()})`,
  holdsFor: "10m",
  summary: "{{ $value }} processes of {{ $labels.job }} cannot be scraped",
  description: `These cannot be scraped: ${queryLabels(downTargets(`{${OF_JOB}}`), "instance", "none")}. Those that are left: ${queryLabels(`pacewatch_leader{${OF_JOB}}`, "instance", "none")}. If the last of them dies, nothing is polled.`,
};

/** The next leader keeps to the limits that it knows. */
const CONFIGS_DIFFER: Alert = {
  alert: "PacewatchFleetConfigsDiffer",
  severity: "ticket",
  expr: "count by (job) (count by (job, digest) (pacewatch_config_info)) > 1",
  holdsFor: "30m",
  summary: "The processes of {{ $labels.job }} run different configs",
  description: `The processes of {{ $labels.job }} run {{ $value | printf "%.0f" }} different configs. What is polled, and by which limits, changes with the leader. Last reloads that failed: ${queryLabels(`pacewatch_config_last_reload_successful{${OF_JOB}} == 0`, "instance", "none")}.`,
};

export const FLEET_ALERTS: RuleGroup = {
  name: "pacewatch-fleet",
  rules: [UNLED, LED_TWICE, LOCK_AWAY, FEWER, RESTARTING_OF_SEVERAL, CONFIGS_DIFFER],
};
