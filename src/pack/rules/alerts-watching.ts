import { counted, OF_UPSTREAM, told } from "./alert-text.ts";
import type { Alert, RuleGroup } from "./rule.ts";

/** Silence that the upstream or a quota asks for tells of itself elsewhere. */
const EXPLAINED = `cause=~"backoff|yield|quota"`;

/** A window must be longer than two periods to see a skipped slot for sure. */
const EXPLAINED_WITHIN: readonly (readonly [longestPeriodS: number, window: string])[] = [
  [120, "5m"],
  [900, "1h"],
  [86_400, "2d"],
];

/** A process that has not polled yet is silent since its config was loaded. */
const SILENT = `time() - (
  pacewatch_last_poll_timestamp_seconds
  or 0 * pacewatch_schedule_period_seconds + on (job, instance) group_left () pacewatch_config_last_reload_success_timestamp_seconds
) > pacewatch:stalled_after_seconds
${EXPLAINED_WITHIN.map(
  ([longestPeriodS, window]) =>
    `unless (sum without (cause) (increase(pacewatch_polls_skipped_total{${EXPLAINED}}[${window}])) > 0 and pacewatch_schedule_period_seconds <= ${longestPeriodS})`,
).join("\n")}`;

/** Series that were here and are not: unless another process has taken over, or a reload took the upstream out. */
const GONE = `time() - last_over_time(pacewatch_last_poll_timestamp_seconds[6h])
unless on (upstream) pacewatch_schedule_period_seconds
unless on (job) time() - pacewatch_config_last_reload_success_timestamp_seconds < 6 * 3600`;

const POLLS_STALLED: Alert = {
  alert: "PacewatchPollsStalled",
  severity: "page",
  expr: `${SILENT}\nor\n${GONE}`,
  holdsFor: "2m",
  summary: "Nobody looks at {{ $labels.upstream }}",
  description: `The last sign of life of the polls of {{ $labels.upstream }} is {{ $value | humanizeDuration }} old; there should be one every ${told(`last_over_time(pacewatch_schedule_period_seconds{${OF_UPSTREAM}}[6h])`, "humanizeDuration", "so often")}. Until this is over, silence about this upstream means nothing.`,
};

/** Not the causes that are somebody's wish: backoff, yield, quota, shutdown. */
const UNWANTED = `cause=~"budget|overlap|missed|ledger"`;
const SKIPPED_IN_AN_HOUR = `sum without (cause) (increase(pacewatch_polls_skipped_total{${UNWANTED}}[1h]))`;

const SLOTS_SKIPPED: Alert = {
  alert: "PacewatchSlotsSkipped",
  severity: "ticket",
  expr: `${SKIPPED_IN_AN_HOUR} / (increase(pacewatch_slots_total[1h]) > 0) > 0.1
and round(${SKIPPED_IN_AN_HOUR}) >= 3`,
  holdsFor: "15m",
  summary: "Polls of {{ $labels.upstream }} are skipped",
  description: `{{ $value | humanizePercentage }} of the slots of {{ $labels.upstream }} in the last hour ended without a poll, by cause: ${counted(`sum by (cause) (increase(pacewatch_polls_skipped_total{${UNWANTED},${OF_UPSTREAM}}[1h])) >= 0.5`, "cause", "none")}. What is not polled is not seen.`,
};

const INTERNAL_ERRORS: Alert = {
  alert: "PacewatchInternalErrors",
  severity: "ticket",
  expr: `round(sum without (outcome, reason) (increase(pacewatch_polls_total{outcome="failed",reason="internal"}[15m]))) > 0`,
  summary: "Pacewatch itself fails to poll {{ $labels.upstream }}",
  description:
    "{{ $value }} polls of {{ $labels.upstream }} in the last 15 minutes ended in a fault of Pacewatch's own. They count neither for nor against the upstream: nobody knows how it is.",
};

export const WATCHING_ALERTS: RuleGroup = {
  name: "pacewatch-watching",
  rules: [POLLS_STALLED, SLOTS_SKIPPED, INTERNAL_ERRORS],
};
