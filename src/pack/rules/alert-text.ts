/** Pieces of alert texts in Go's template language: a text without numbers sends its reader elsewhere. */

const UPSTREAM = "$labels.job $labels.instance $labels.upstream";
const EVERYWHERE = "$labels.job $labels.upstream";
const BUDGET = "$labels.job $labels.instance $labels.budget";
const INSTANCE = "$labels.job $labels.instance";
const JOB = "$labels.job";

/** Matchers of the alert's own upstream, for the queries below. */
export const OF_UPSTREAM = "job=%q,instance=%q,upstream=%q";
/** From all vantages. */
export const OF_UPSTREAM_EVERYWHERE = "job=%q,upstream=%q";
export const OF_BUDGET = "job=%q,instance=%q,budget=%q";
export const OF_JOB = "job=%q";
export const OF_INSTANCE = "job=%q,instance=%q";

/** What another query says about the same thing, through a template function such as `humanizeDuration`. */
export function told(query: string, format: string, otherwise: string): string {
  return `{{ with ${asked(query)} }}{{ . | first | value | ${format} }}{{ else }}${otherwise}{{ end }}`;
}

/** Like `timeout (3), reset (1)`: each value of a label, with how many there were, the most first. */
export function counted(query: string, label: string, otherwise: string): string {
  return listed(
    asked(`sort_desc(${query})`),
    `{{ $each.Labels.${label} }} ({{ printf "%.0f" $each.Value }})`,
    otherwise,
  );
}

/** Like `email, ai-router`: each value of a label. */
export function named(query: string, label: string, otherwise: string): string {
  return listed(`${asked(query)} | sortByLabel "${label}"`, `{{ $each.Labels.${label} }}`, otherwise);
}

/** How its polls failed lately. */
export function recentFailures(window: string, of: string = OF_UPSTREAM): string {
  return counted(
    `sum by (reason) (increase(pacewatch_polls_total{outcome="failed",${of}}[${window}])) >= 0.5`,
    "reason",
    "none",
  );
}

export const SINCE_LAST_SUCCESS: string = told(
  `time() - pacewatch_last_success_timestamp_seconds{${OF_UPSTREAM}}`,
  "humanizeDuration",
  "as long as this process runs",
);

function listed(vector: string, item: string, otherwise: string): string {
  return `{{ with ${vector} }}{{ range $i, $each := . }}{{ if $i }}, {{ end }}${item}{{ end }}{{ else }}${otherwise}{{ end }}`;
}

function asked(query: string): string {
  return `printf \`${query}\` ${labelsOf(query)} | query`;
}

function labelsOf(query: string): string {
  if (query.includes(OF_UPSTREAM)) return UPSTREAM;
  if (query.includes(OF_UPSTREAM_EVERYWHERE)) return EVERYWHERE;
  if (query.includes(OF_BUDGET)) return BUDGET;
  return query.includes(OF_INSTANCE) ? INSTANCE : JOB;
}
