import { queryCounts, OF_UPSTREAM, queryValue } from "./alert-text.ts";
import { counted, grown } from "./counted.ts";
import { type Holders, ONE } from "./replicas.ts";
import type { Alert, RuleGroup } from "./rule.ts";

/** These pauses are requested by the upstream or a quota, and have alerts of their own. */
const EXPLAINED = `cause=~"backoff|yield|quota"`;

/** A window must be longer than two periods to be sure to contain a skipped slot; a longer one excuses for longer. */
const EXPLAINED_WITHIN: readonly (readonly [abovePeriodS: number, longestPeriodS: number, window: string])[] =
  [
    [0, 120, "5m"],
    [120, 900, "1h"],
    [900, 3_600, "3h"],
    [3_600, 86_400, "2d"],
  ];

/** Before the first poll, the time counts from the last one of another holder, or from when the config was loaded. */
function silent(holders: Holders): string {
  const { labels, total, setting } = holders;
  const before =
    holders === ONE
      ? ""
      : `or 0 * pacewatch_schedule_period_seconds + on (${labels}) group_left () max by (${labels}) (last_over_time(pacewatch_last_poll_timestamp_seconds[6h]))\n  `;
  const explained = EXPLAINED_WITHIN.map(([above, longest, window]) => {
    const skips = total(counted(`pacewatch_polls_skipped_total{${EXPLAINED}}`, window));
    return `unless on (${labels}) (${skips} and ${setting("pacewatch_schedule_period_seconds")} > ${above} <= ${longest})`;
  });
  return `time() - (
  pacewatch_last_poll_timestamp_seconds
  ${before}or 0 * pacewatch_schedule_period_seconds + on (job, instance) group_left () pacewatch_config_last_reload_success_timestamp_seconds
) > pacewatch_stalled_after_seconds
${explained.join("\n")}`;
}

/** The series have disappeared, no other process has taken over, and no reload has removed the upstream. */
const GONE = `time() - last_over_time(pacewatch_last_poll_timestamp_seconds[6h])
unless on (upstream) pacewatch_schedule_period_seconds
unless on (job) time() - pacewatch_config_last_reload_success_timestamp_seconds < 6 * 3600`;

const pollsStalled = (holders: Holders): Alert => ({
  alert: "PacewatchPollsStalled",
  severity: "page",
  expr: `${silent(holders)}\nor\n${GONE}`,
  holdsFor: "2m",
  summary: "{{ $labels.upstream }} is not being polled",
  description: `No poll of {{ $labels.upstream }} has finished for {{ $value | humanizeDuration }}; one is expected every ${queryValue(`last_over_time(pacewatch_schedule_period_seconds{${OF_UPSTREAM}}[6h])`, "humanizeDuration", "period")}. Other alerts about this upstream cannot fire until polls resume.`,
});

/** The other causes are intended: backoff, yield, quota, shutdown. */
const UNWANTED = `cause=~"budget|overlap|missed|ledger"`;
const SKIPPED_IN_AN_HOUR = `sum without (cause) (increase(pacewatch_polls_skipped_total{${UNWANTED}}[1h]))`;

/** Not for a replica that is gone: its counters stay in the window. The same in other alerts. */
const SLOTS_SKIPPED: Alert = {
  alert: "PacewatchSlotsSkipped",
  severity: "ticket",
  expr: `${SKIPPED_IN_AN_HOUR} / (increase(pacewatch_slots_total[1h]) > 0) > 0.1
and round(${SKIPPED_IN_AN_HOUR}) >= 3
and pacewatch_slots_total`,
  holdsFor: "15m",
  summary: "Polls of {{ $labels.upstream }} are being skipped",
  description: `{{ $value | humanizePercentage }} of the slots of {{ $labels.upstream }} were skipped in the last hour, by cause: ${queryCounts(`sum by (cause) (${grown(`pacewatch_polls_skipped_total{${UNWANTED},${OF_UPSTREAM}}`, "1h")}) >= 0.5`, "cause", "none")}. An outage may be noticed late.`,
};

const BUGS = `pacewatch_poll_reasons_total{reason="bug"}`;

const INTERNAL_ERRORS: Alert = {
  alert: "PacewatchInternalErrors",
  severity: "ticket",
  expr: `sum without (outcome, reason) (${grown(BUGS, "15m")}) > 0`,
  summary: "Pacewatch fails to poll {{ $labels.upstream }} because of a bug",
  description:
    "{{ $value }} polls of {{ $labels.upstream }} in the last 15 minutes failed because of a bug in Pacewatch. They do not count for or against the upstream, so its state is unknown.",
};

export function watchingAlerts(holders: Holders): RuleGroup {
  return { name: "pacewatch-watching", rules: [pollsStalled(holders), SLOTS_SKIPPED, INTERNAL_ERRORS] };
}
