import type { Outcome } from "../../src/kernel/exchange/reasons.ts";
import { parseDuration } from "../../src/kernel/time/duration.ts";
import { grown } from "./counted.ts";

type NotOk = Exclude<Outcome, "ok">;

/** Parts of alert texts in Go's template language, so that each alert shows the numbers behind it. */

/** Matchers for the labels of the alert, for the queries below. */
export const OF_UPSTREAM = "job=%q,instance=%q,upstream=%q";
/** Whichever process saw it. */
export const OF_UPSTREAM_EVERYWHERE = "job=%q,upstream=%q";
export const OF_BUDGET = "job=%q,instance=%q,budget=%q";
export const OF_BUDGET_ANYWHERE = "job=%q,budget=%q";
export const OF_JOB = "job=%q";
export const OF_INSTANCE = "job=%q,instance=%q";

/** The value of another query, formatted by a template function such as `humanizeDuration`. */
export function queryValue(query: string, format: string, otherwise: string): string {
  return `{{ with ${queryCall(query)} }}{{ . | first | value | ${format} }}{{ else }}${otherwise}{{ end }}`;
}

/** The values of a label with their counts, the most frequent first: `timeout (3), reset (1)`. */
export function queryCounts(query: string, label: string, otherwise: string): string {
  return joined(
    queryCall(`sort_desc(${query})`),
    `{{ $each.Labels.${label} }} ({{ printf "%.0f" $each.Value }})`,
    otherwise,
  );
}

/** The values of a label: `ai-router, email`. */
export function queryLabels(query: string, label: string, otherwise: string): string {
  return joined(`${queryCall(query)} | sortByLabel "${label}"`, `{{ $each.Labels.${label} }}`, otherwise);
}

/** The polls with this outcome, by reason. */
export function reasonsOver(window: string, outcome: NotOk, of: string = OF_UPSTREAM): string {
  const polls = `pacewatch_poll_reasons_total{outcome="${outcome}",${of}}`;
  return queryCounts(`sum by (reason) (${grown(polls, window)}) >= 0.5`, "reason", "none");
}

/** With the polls that made the alert fire: what is recorded is an evaluation older. */
export function availabilityNow(window: string, of: string = OF_UPSTREAM): string {
  const ok = `sum(increase(pacewatch_upstream_watched_seconds_total{outcome="ok",${of}}[${window}]))`;
  const watched = `sum(increase(pacewatch_upstream_watched_seconds_total{${of}}[${window}]))`;
  return `${queryValue(`${ok} / (${watched} > 0)`, "humanizePercentage", "unknown")}${watchedIn(window, of)}`;
}

/** From this share on, a window counts as watched. */
const WHOLLY_WATCHED = 0.9;

/** Of how much of the window that is, where not all of it was watched. Of several that watch, the one that watched most. */
export function watchedIn(window: string, of: string = OF_UPSTREAM): string {
  const wholeS = (WHOLLY_WATCHED * (parseDuration(window) ?? 0)) / 1_000;
  const watched = `max(sum without (outcome) (increase(pacewatch_upstream_watched_seconds_total{${of}}[${window}]))) < ${wholeS} > 0`;
  return `{{ with ${queryCall(watched)} }} of {{ . | first | value | humanizeDuration }}{{ end }}`;
}

export const SINCE_LAST_SUCCESS: string = queryValue(
  `time() - max(last_over_time(pacewatch_last_success_timestamp_seconds{${OF_UPSTREAM}}[1d]))`,
  "humanizeDuration",
  "as long as this process has been running",
);

function joined(vector: string, item: string, otherwise: string): string {
  return `{{ with ${vector} }}{{ range $i, $each := . }}{{ if $i }}, {{ end }}${item}{{ end }}{{ else }}${otherwise}{{ end }}`;
}

function queryCall(query: string): string {
  return `printf \`${query}\` ${labelsOf(query)} | query`;
}

/** The labels that fill in the `%q` of a query, in their order: `$labels.job $labels.instance`. */
function labelsOf(query: string): string {
  return [...query.matchAll(/(\w+)=%q/g)].map(([, label]) => `$labels.${label}`).join(" ");
}
