import { SKIP_CAUSES, SKIPS } from "../../src/kernel/exchange/outcome.ts";
import { queryCounts, OF_UPSTREAM, queryValue } from "./alert-text.ts";
import { grown } from "./counted.ts";
import type { Alert, RuleGroup } from "./rule.ts";

/**
 * The series have disappeared, no other process has taken over, and no reload has removed the upstream. Under another job,
 * only a new one has taken over: one that was there before may watch for somebody else.
 */
const GONE = `last_over_time(pacewatch_stalled_at_timestamp_seconds[6h])
unless on (job, upstream) pacewatch_stalled_at_timestamp_seconds
unless on (upstream) (pacewatch_stalled_at_timestamp_seconds unless on (job, upstream) pacewatch_stalled_at_timestamp_seconds offset 6h)
unless on (job) time() - pacewatch_config_last_reload_success_timestamp_seconds < 6 * 3600`;

const SINCE_LAST_POLL = `time() - max(last_over_time(pacewatch_last_poll_timestamp_seconds{${OF_UPSTREAM}}[6h]))`;

const POLLS_STALLED: Alert = {
  alert: "PacewatchPollsStalled",
  severity: "page",
  expr: `time() - (
  pacewatch_stalled_at_timestamp_seconds
  or
  ${GONE.replaceAll("\n", "\n  ")}
) > 0`,
  holdsFor: "2m",
  summary: "{{ $labels.upstream }} is not being polled",
  description: `No poll of {{ $labels.upstream }} has finished ${queryValue(SINCE_LAST_POLL, 'humanizeDuration | printf "for %s"', "yet")}, though three of its slots came. Other alerts about this upstream cannot fire until polls resume.`,
};

/** Nobody asked for those. */
const UNWANTED = `cause=~"${SKIP_CAUSES.filter((cause) => !SKIPS[cause].isAskedFor && cause !== "shutdown").join("|")}"`;
const SKIPPED_IN_AN_HOUR = `sum without (cause) (increase(pacewatch_polls_skipped_total{${UNWANTED}}[1h]))`;

/** Not for a process that is gone: its counters stay in the window. The same in other alerts. */
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

export const WATCHING_ALERTS: RuleGroup = {
  name: "pacewatch-watching",
  rules: [POLLS_STALLED, SLOTS_SKIPPED, INTERNAL_ERRORS],
};
