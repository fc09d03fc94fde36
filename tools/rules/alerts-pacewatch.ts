import { OF_INSTANCE, queryValue } from "./alert-text.ts";
import type { Alert, RuleGroup } from "./rule.ts";

/** Found by a metric that it exported before, so the job may have any name. */
export function downTargets(matchers = ""): string {
  return `up${matchers} == 0 and on (job, instance) last_over_time(pacewatch_build_info${matchers}[7d])`;
}

export const DOWN: Alert = {
  alert: "PacewatchDown",
  severity: "page",
  expr: downTargets(),
  holdsFor: "2m",
  summary: "Pacewatch at {{ $labels.instance }} cannot be scraped",
  description: `Prometheus cannot scrape {{ $labels.instance }} (job {{ $labels.job }}). It watched ${queryValue(`count(last_over_time(pacewatch_schedule_period_seconds{${OF_INSTANCE}}[6h]))`, `printf "%.0f"`, "an unknown number of")} upstreams; their state is unknown until it is back.`,
};

/** A life that is shorter than the first silence of its budgets polls nothing, is up, and is never stalled. */
const RESTARTING: Alert = {
  alert: "PacewatchRestarting",
  severity: "page",
  expr: `changes(process_start_time_seconds[30m]) > 3
and on (job, instance) last_over_time(pacewatch_build_info[30m])`,
  summary: "Pacewatch at {{ $labels.instance }} restarts again and again",
  description: `Pacewatch at {{ $labels.instance }} has restarted {{ $value }} times in the last 30 minutes. After each start it waits before its first poll, so it may poll nothing, and no other alert tells of that. Its last poll ended ${queryValue(`time() - max(last_over_time(pacewatch_last_poll_timestamp_seconds{${OF_INSTANCE}}[1d]))`, 'humanizeDuration | printf "%s ago"', "more than a day ago, or never")}.`,
};

/** Others watch on meanwhile. */
export const RESTARTING_OF_SEVERAL: Alert = { ...RESTARTING, severity: "ticket" };

const ABSENT: Alert = {
  alert: "PacewatchAbsent",
  severity: "page",
  expr: `absent(pacewatch_build_info) unless on () (${downTargets()})`,
  holdsFor: "5m",
  summary: "Prometheus scrapes no Pacewatch",
  description:
    "Prometheus has 0 Pacewatch targets: none was configured, or service discovery lost it. No upstream is being watched.",
};

const RELOAD_FAILED: Alert = {
  alert: "PacewatchConfigReloadFailed",
  severity: "ticket",
  expr: "pacewatch_config_last_reload_successful == 0",
  holdsFor: "5m",
  summary: "Pacewatch at {{ $labels.instance }} rejected its new config",
  description: `The last reload at {{ $labels.instance }} failed. The config loaded ${queryValue(`time() - pacewatch_config_last_reload_success_timestamp_seconds{${OF_INSTANCE}}`, "humanizeDuration", "some time")} ago is still in use. If the log asks for a restart, restart; else a restart would fail.`,
};

const STATE_STORE_DOWN: Alert = {
  alert: "PacewatchStateStoreDown",
  severity: "ticket",
  expr: "pacewatch_state_store_up == 0",
  holdsFor: "5m",
  summary: "Pacewatch at {{ $labels.instance }} cannot write its state",
  description: `The state file at {{ $labels.instance }} was not writable for ${queryValue(`count_over_time((pacewatch_state_store_up{${OF_INSTANCE}} == 0)[1h:1m]) * 60`, "humanizeDuration", "some time")} of the last hour. Polls continue, but a restart would lose the newest history, and count all quotas as used.`,
};

/** A receiver may ask for a short pause. What it refused is lost. */
const NOTIFICATIONS_STUCK: Alert = {
  alert: "PacewatchNotificationsStuck",
  severity: "ticket",
  expr: `max by (job, instance, receiver) (pacewatch_notifications_oldest_pending_seconds) > 300
or sum by (job, instance, receiver) (increase(pacewatch_notifications_total{outcome="refused"}[1h])) > 0`,
  holdsFor: "5m",
  summary: "Pacewatch at {{ $labels.instance }} cannot notify {{ $labels.receiver }}",
  description:
    "The receiver {{ $labels.receiver }} should know something that Pacewatch at {{ $labels.instance }} could not tell it: it took no message for more than five minutes, or refused one within the last hour. What it refused is not sent again.",
};

/** Of a fleet, where one that is gone is no reason to wake anybody. */
export const OF_ANY_PROCESS: RuleGroup = {
  name: "pacewatch-itself",
  rules: [ABSENT, RELOAD_FAILED, STATE_STORE_DOWN, NOTIFICATIONS_STUCK],
};

export const PACEWATCH_ALERTS: RuleGroup = {
  ...OF_ANY_PROCESS,
  rules: [DOWN, RESTARTING, ...OF_ANY_PROCESS.rules],
};
