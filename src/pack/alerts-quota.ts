import { named, OF_BUDGET, told } from "./alert-text.ts";
import type { Alert, RuleGroup } from "./rule.ts";

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
