import { OF_JOB, queryLabels } from "./alert-text.ts";
import { LOCK_AWAY, seenLately } from "./alerts-fleet.ts";
import { DOWN, RESTARTING_OF_SEVERAL } from "./alerts-pacewatch.ts";
import { NOT_OFFLINE } from "./offline.ts";
import type { Alert, RuleGroup } from "./rule.ts";

/** It had a process within a day, alone or in a fleet. */
const KNOWN = `last_over_time(pacewatch_build_info{vantage!=""}[1d])`;
/** Who stands by has no such series. */
const POLLING = "pacewatch_polls_in_flight";
/** Without a network it sees nothing. */
const SEEING = `(${POLLING} ${NOT_OFFLINE})`;

const UNWATCHED: Alert = {
  alert: "PacewatchUnwatched",
  severity: "page",
  expr: `count by (job) (${KNOWN}) unless on (job) ${SEEING}`,
  holdsFor: "2m",
  summary: "No vantage of {{ $labels.job }} watches",
  description: `No vantage of {{ $labels.job }} polls, or all of them are offline: {{ $value | printf "%.0f" }} processes were seen within a day. The state of all upstreams is unknown. Processes that can be scraped: ${queryLabels(`pacewatch_build_info{${OF_JOB}}`, "instance", "none")}.`,
};

const SILENT: Alert = {
  alert: "PacewatchVantageSilent",
  severity: "ticket",
  expr: `count by (job, vantage) (${KNOWN}) unless on (job, vantage) ${SEEING}`,
  holdsFor: "5m",
  summary: "The vantage {{ $labels.vantage }} of {{ $labels.job }} watches nothing",
  description: `{{ $labels.vantage }} polls nothing, or is offline: {{ $value | printf "%.0f" }} processes were seen there within a day. Vantages that poll: ${queryLabels(`count by (vantage) (${POLLING}{${OF_JOB}})`, "vantage", "none")}.`,
};

/** Each of them uses the whole part. A process that was restarted elsewhere is seen twice for a moment. */
const TWICE: Alert = {
  alert: "PacewatchLedTwice",
  severity: "page",
  expr: `count by (job, vantage) (count by (job, vantage, instance) (${seenLately(POLLING)})) > 1`,
  holdsFor: "2m",
  summary: "{{ $value }} processes of the vantage {{ $labels.vantage }} poll",
  description: `All of these poll from {{ $labels.vantage }}: ${queryLabels(`count by (instance) (${POLLING}{job=%q,vantage=%q})`, "instance", "none")}. Together they may exceed the limits.`,
};

/** The others watch on. */
const PROCESS_DOWN: Alert = { ...DOWN, severity: "ticket", holdsFor: "10m" };

export const VANTAGE_ALERTS: RuleGroup = {
  name: "pacewatch-vantages",
  rules: [UNWATCHED, SILENT, TWICE, PROCESS_DOWN, RESTARTING_OF_SEVERAL, LOCK_AWAY],
};
