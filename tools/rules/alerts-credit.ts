import { OF_BUDGET, OF_BUDGET_ANYWHERE, queryLabels, queryValue } from "./alert-text.ts";
import type { Alert, Recording, RuleGroup } from "./rule.ts";

const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;

/** A ticket three days before it is empty, and a page six hours before. */
function endingRules(
  record: string,
  emptyAt: string,
  labels: string,
  counts: string,
  alert: Pick<Alert, "alert" | "summary" | "description">,
): RuleGroup["rules"] {
  /** Of the account, whichever process saw it. */
  const emptyIn = (name: string, matchers: string): Recording => ({
    record: name,
    expr: `min by (job, ${labels}) (${emptyAt}${matchers}) - time()`,
  });
  const worst = emptyIn(record, "");
  // A burst of an hour says nothing about days.
  const byDays = emptyIn(`${record}_by_days`, '{window!="1h"}');
  const inHours = `${worst.record} ${counts}< ${6 * HOUR_S}`;
  const inDays = `${byDays.record} ${counts}< ${3 * DAY_S} unless (${inHours})`;
  return [
    worst,
    byDays,
    { ...alert, severity: "page", expr: inHours, holdsFor: "15m" },
    { ...alert, severity: "ticket", expr: inDays, holdsFor: "1h" },
  ];
}

/** It is 0 only once the value was not seen for longer than it stands. */
const UNREADABLE: Alert = {
  alert: "PacewatchValueUnreadable",
  severity: "ticket",
  expr: "min by (job, upstream, name) (pacewatch_upstream_value_readable) == 0",
  holdsFor: "5m",
  summary: "The value {{ $labels.name }} of {{ $labels.upstream }} cannot be read",
  description:
    "The answers of {{ $labels.upstream }} have no number where the config names {{ $labels.name }}, so nothing warns before it is used up. Its page shows what stands there instead.",
};

export const CREDIT_ALERTS: RuleGroup = {
  name: "pacewatch-credit",
  rules: [
    UNREADABLE,
    // Less than 0 once it is empty.
    ...endingRules(
      "pacewatch:credit_empty_in:seconds",
      "pacewatch_upstream_credit_empty_timestamp_seconds",
      "upstream, name",
      "",
      {
        alert: "PacewatchCreditEnding",
        summary: "Credit of {{ $labels.upstream }} is running out: {{ $labels.name }}",
        description:
          "{{ if gt $value 0.0 }}At its present pace, the credit {{ $labels.name }} of {{ $labels.upstream }} lasts for {{ $value | humanizeDuration }}. After that,{{ else }}The credit {{ $labels.name }} of {{ $labels.upstream }} is empty:{{ end }} everything that uses this account is rejected, production included.",
      },
    ),
  ],
};

const USED = "pacewatch_budget_quota_used_requests";
const LIMIT = "pacewatch_budget_quota_limit_requests";

const UPSTREAMS = queryLabels(
  `sum by (upstream) (pacewatch_upstream_info{${OF_BUDGET_ANYWHERE}})`,
  "upstream",
  "its upstreams",
);

/** A spend is used up where what is left does not pay for one more poll. */
const SPENT: Alert = {
  alert: "PacewatchQuotaSpent",
  severity: "ticket",
  expr: `${USED} >= ${LIMIT} or pacewatch:quota_empty_in:seconds{quota="spend"} <= 0`,
  summary: 'The {{ or $labels.quota "quota" }} of budget {{ $labels.budget }} is used up: polls have stopped',
  description: `{{ if $labels.quota }}What is left of the spend in our config does not pay for one more poll.{{ else }}{{ $value | printf "%.0f" }} requests were sent, and the quota in our config allows ${queryValue(`${LIMIT}{${OF_BUDGET}}`, `printf "%.0f"`, "no more")}.{{ end }} Not polled until the oldest requests leave its period: ${UPSTREAMS}.`,
};

export const QUOTA_ALERTS: RuleGroup = {
  name: "pacewatch-quotas",
  rules: [
    // One that is spent has an alert of its own.
    ...endingRules(
      "pacewatch:quota_empty_in:seconds",
      "pacewatch_budget_quota_empty_timestamp_seconds",
      "budget, quota",
      "> 0 ",
      {
        alert: "PacewatchQuotaNearlySpent",
        summary: "The quota of budget {{ $labels.budget }} is nearly used up: {{ $labels.quota }}",
        description:
          'At its present pace, the quota {{ $labels.quota }} of budget {{ $labels.budget }} is used up in {{ $value | humanizeDuration }}, before it refills. {{ if eq $labels.quota "own" "spend" }}It is the one in our config: then polls stop.{{ else }}The upstream advertises it: then everything that uses this account is rejected, production included.{{ end }}',
      },
    ),
    SPENT,
  ],
};
