import { queryLabels, OF_BUDGET, OF_INSTANCE, queryValue } from "./alert-text.ts";
import type { Alert, RuleGroup } from "./rule.ts";

/** Found by a metric that it exported before, so the job may have any name. */
const DOWN_TARGET = "up == 0 and on (job, instance) last_over_time(pacewatch_build_info[7d])";

const DOWN: Alert = {
  alert: "PacewatchDown",
  severity: "page",
  expr: DOWN_TARGET,
  holdsFor: "2m",
  summary: "Pacewatch at {{ $labels.instance }} cannot be scraped",
  description: `Prometheus cannot scrape {{ $labels.instance }} (job {{ $labels.job }}). It watched ${queryValue(`count(last_over_time(pacewatch_schedule_period_seconds{${OF_INSTANCE}}[6h]))`, `printf "%.0f"`, "an unknown number of")} upstreams; their state is unknown until it is back.`,
};

const ABSENT: Alert = {
  alert: "PacewatchAbsent",
  severity: "page",
  expr: `absent(pacewatch_build_info) unless on () (${DOWN_TARGET})`,
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
  description: `The last reload at {{ $labels.instance }} failed. The config loaded ${queryValue(`time() - pacewatch_config_last_reload_success_timestamp_seconds{${OF_INSTANCE}}`, "humanizeDuration", "some time")} ago is still in use. A restart would fail.`,
};

const STATE_STORE_DOWN: Alert = {
  alert: "PacewatchStateStoreDown",
  severity: "ticket",
  expr: "pacewatch_state_store_up == 0",
  holdsFor: "5m",
  summary: "Pacewatch at {{ $labels.instance }} cannot write its state",
  description: `The state file at {{ $labels.instance }} was not writable for ${queryValue(`count_over_time((pacewatch_state_store_up{${OF_INSTANCE}} == 0)[1h:1m]) * 60`, "humanizeDuration", "some time")} of the last hour. Polls continue, but a restart would lose the newest history and quota usage.`,
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
  // A rolling quota that is used evenly stays at its level, however full. So the trend counts, not the level.
  expr: `${USED} / ${LIMIT} > 0.8
and predict_linear(${USED}[6h], 86400) >= ${LIMIT}
and ${USED} < ${LIMIT}`,
  summary: "The quota of budget {{ $labels.budget }} is nearly used up",
  description: `{{ $value | humanizePercentage }} of the ${queryValue(`${LIMIT}{${OF_BUDGET}}`, `printf "%.0f"`, "unknown")} requests that the quota in our config allows are used. At the rate of the last 6 hours, the rest is gone within a day. The schedules need ${queryValue(`pacewatch_budget_quota_forecast_requests{${OF_BUDGET}}`, `printf "%.0f"`, "an unknown number of")} requests per quota period.`,
};

const SPENT: Alert = {
  alert: "PacewatchQuotaSpent",
  severity: "ticket",
  expr: `${USED} >= ${LIMIT}`,
  summary: "The quota of budget {{ $labels.budget }} is used up: polls have stopped",
  description: `{{ $value | printf "%.0f" }} requests were sent, and the quota in our config allows ${queryValue(`${LIMIT}{${OF_BUDGET}}`, `printf "%.0f"`, "no more")}. Not polled until the oldest requests leave the quota period: ${queryLabels(`sum by (upstream) (pacewatch_upstream_info{${OF_BUDGET}})`, "upstream", "its upstreams")}.`,
};

export const QUOTA_ALERTS: RuleGroup = { name: "pacewatch-quotas", rules: [NEARLY_SPENT, SPENT] };
