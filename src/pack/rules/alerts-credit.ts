import type { Alert, Recording, RuleGroup } from "./rule.ts";

const EMPTY_AT = "pacewatch_upstream_credit_empty_timestamp_seconds";
const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;

/** Of the account, whichever replica saw it. Less than 0 once it is empty. */
function emptyIn(record: string, matchers: string): Recording {
  return { record, expr: `min by (job, upstream, name) (${EMPTY_AT}${matchers}) - time()` };
}

const WORST = emptyIn("pacewatch:credit_empty_in:seconds", "");
/** A burst of an hour says nothing about days. */
const BY_DAYS = emptyIn("pacewatch:credit_empty_in:seconds_by_days", '{window!="1h"}');

const IN_HOURS = `${WORST.record} < ${6 * HOUR_S}`;

function creditEnding(severity: Alert["severity"], expr: string, holdsFor: string): Alert {
  return {
    alert: "PacewatchCreditEnding",
    severity,
    expr,
    holdsFor,
    summary: "Credit of {{ $labels.upstream }} is running out: {{ $labels.name }}",
    description:
      "At its present pace, the credit {{ $labels.name }} of {{ $labels.upstream }} lasts for {{ $value | humanizeDuration }}; less than 0 means that it is empty. After that, everything that uses this account is rejected, production included.",
  };
}

export const CREDIT_ALERTS: RuleGroup = {
  name: "pacewatch-credit",
  rules: [
    WORST,
    BY_DAYS,
    creditEnding("page", IN_HOURS, "15m"),
    creditEnding("ticket", `${BY_DAYS.record} < ${3 * DAY_S} unless (${IN_HOURS})`, "1h"),
  ],
};
