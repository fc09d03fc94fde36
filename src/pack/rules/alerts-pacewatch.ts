import { named, OF_BUDGET, OF_INSTANCE, told } from "./alert-text.ts";
import type { Alert, RuleGroup } from "./rule.ts";

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
  rules: [DOWN, ABSENT, RELOAD_FAILED, STATE_STORE_DOWN],
};

const USED = "pacewatch_budget_quota_used_requests";
const LIMIT = "pacewatch_budget_quota_limit_requests";

const NEARLY_SPENT: Alert = {
  alert: "PacewatchQuotaNearlySpent",
  severity: "ticket",
  // A rolling quota that is used evenly stays where it is, however full: what counts is where it is heading.
  expr: `${USED} / ${LIMIT} > 0.8
and predict_linear(${USED}[6h], 86400) >= ${LIMIT}
and ${USED} < ${LIMIT}`,
  summary: "The quota of the budget {{ $labels.budget }} is nearly spent",
  description: `{{ $value | humanizePercentage }} of the ${told(`${LIMIT}{${OF_BUDGET}}`, `printf "%.0f"`, "unknown")} requests that the quota in our own config allows are used, and at the pace of the last 6 hours the rest is gone within a day. The schedules ask for ${told(`pacewatch_budget_quota_forecast_requests{${OF_BUDGET}}`, `printf "%.0f"`, "an unknown number of")} requests in its period.`,
};

const SPENT: Alert = {
  alert: "PacewatchQuotaSpent",
  severity: "ticket",
  expr: `${USED} >= ${LIMIT}`,
  summary: "The quota of the budget {{ $labels.budget }} is spent: polls have stopped",
  description: `{{ $value | printf "%.0f" }} requests were sent, the quota in our own config allows ${told(`${LIMIT}{${OF_BUDGET}}`, `printf "%.0f"`, "no more")}. Until the oldest of them leave its period, nobody looks at: ${named(`sum by (upstream) (pacewatch_upstream_info{${OF_BUDGET}})`, "upstream", "its upstreams")}.`,
};

export const QUOTA_ALERTS: RuleGroup = { name: "pacewatch-quotas", rules: [NEARLY_SPENT, SPENT] };
