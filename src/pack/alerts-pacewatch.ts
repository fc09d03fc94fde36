import { OF_INSTANCE, told } from "./alert-text.ts";
import type { Alert, Recording, RuleGroup } from "./rule.ts";

const NETWORK = `reason=~"dns|connect|timeout"`;

/** Its newest poll failed on the way, and so it has since about the last time that any upstream was reached. */
const UNREACHABLE: Recording = {
  record: "pacewatch:unreachable",
  expr: `(
    pacewatch_last_poll_timestamp_seconds > pacewatch_last_success_timestamp_seconds
    and
    pacewatch_last_success_timestamp_seconds + 2 * pacewatch_schedule_period_seconds + 30
      > on (job, instance) group_left () max by (job, instance) (pacewatch_last_success_timestamp_seconds)
  or
    pacewatch_last_poll_timestamp_seconds unless on (job, instance) pacewatch_last_success_timestamp_seconds
)
and sum without (outcome, reason) (increase(pacewatch_polls_total{outcome="failed",${NETWORK}}[5m])) > 0`,
};

const OFFLINE: Alert = {
  alert: "PacewatchOffline",
  severity: "page",
  // Not while an ok that should have been repeated by now is fresh, and not where anything answers at all.
  expr: `count by (job, instance) (pacewatch:unreachable) >= 2
unless on (job, instance)
  (
    pacewatch_last_poll_timestamp_seconds == pacewatch_last_success_timestamp_seconds
    and time() - pacewatch_last_poll_timestamp_seconds < clamp_max(pacewatch_schedule_period_seconds, 60) + 30
  )
unless on (job, instance)
  sum by (job, instance) (increase(pacewatch_polls_total{outcome!="ok",reason!~"dns|connect|timeout|internal"}[5m])) > 0`,
  // The first ok ends it. The others need a moment to be polled again, and are not down meanwhile.
  lastsFor: "2m",
  summary: "{{ $labels.instance }} reaches no upstream: it is offline",
  description: `{{ $value }} upstreams, all that {{ $labels.instance }} polled lately, fail by dns, connect or timeout; none answers. Time since the last ok of any: ${told(`time() - max(pacewatch_last_success_timestamp_seconds{${OF_INSTANCE}})`, "humanizeDuration", "none since its start")}. More likely its own network is broken than all of them at once: whether they are down is not known from here.`,
};

/** Known by what it once showed, so that it works whatever the job is called. */
const DOWN_TARGET = "up == 0 and on (job, instance) last_over_time(pacewatch_build_info[7d])";

const DOWN: Alert = {
  alert: "PacewatchDown",
  severity: "page",
  expr: DOWN_TARGET,
  holdsFor: "2m",
  summary: "Pacewatch at {{ $labels.instance }} cannot be scraped",
  description: `Prometheus cannot scrape {{ $labels.instance }} of the job {{ $labels.job }}. It watched ${told(`count(last_over_time(pacewatch_schedule_period_seconds{${OF_INSTANCE}}[6h]))`, `printf "%.0f"`, "an unknown number of")} upstreams; while it is away, nothing is known of them.`,
};

const ABSENT: Alert = {
  alert: "PacewatchAbsent",
  severity: "page",
  expr: `absent(pacewatch_build_info) unless on () (${DOWN_TARGET})`,
  holdsFor: "5m",
  summary: "No Pacewatch is scraped at all",
  description:
    "Prometheus has 0 targets that are a Pacewatch: none was ever configured, or service discovery lost it. Nobody watches any upstream.",
};

const RELOAD_FAILED: Alert = {
  alert: "PacewatchConfigReloadFailed",
  severity: "ticket",
  expr: "pacewatch_config_last_reload_successful == 0",
  holdsFor: "5m",
  summary: "Pacewatch at {{ $labels.instance }} refuses its new config",
  description: `The last reload at {{ $labels.instance }} failed; the config that it loaded ${told(`time() - pacewatch_config_last_reload_success_timestamp_seconds{${OF_INSTANCE}}`, "humanizeDuration", "some time")} ago runs on. A restart would not start.`,
};

const STATE_STORE_DOWN: Alert = {
  alert: "PacewatchStateStoreDown",
  severity: "ticket",
  expr: "pacewatch_state_store_up == 0",
  holdsFor: "5m",
  summary: "Pacewatch at {{ $labels.instance }} cannot write its state",
  description: `The state file at {{ $labels.instance }} could not be written for ${told(`count_over_time((pacewatch_state_store_up{${OF_INSTANCE}} == 0)[1h:1m]) * 60`, "humanizeDuration", "some time")} of the last hour. Polls go on; history and quotas would not survive a restart.`,
};

export const PACEWATCH_ALERTS: RuleGroup = {
  name: "pacewatch-itself",
  rules: [UNREACHABLE, OFFLINE, DOWN, ABSENT, RELOAD_FAILED, STATE_STORE_DOWN],
};
