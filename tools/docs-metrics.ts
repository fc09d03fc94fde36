/** Writes docs/metrics.md from the metrics of the kernel and of each feature: `node tools/docs-metrics.ts`. */

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { SKIP_CAUSES, SKIPS } from "../src/kernel/exchange/outcome.ts";
import { OUTCOMES, REASON_NAMES, REASONS } from "../src/kernel/exchange/reasons.ts";
import { PHASES } from "../src/kernel/exchange/exchange.ts";
import { BURN_WINDOWS } from "../src/features/history/credit.ts";
import { CODE_LABELS } from "../src/kernel/metrics/accounts.ts";
import { HEALTH_STATES } from "../src/kernel/poll/health.ts";
import { METRICS } from "../src/app/features/shown.ts";
import type { Description } from "../src/kernel/metrics/family.ts";
import { renderProtobuf } from "../test/support/metrics/render.ts";
import { fullMetricsSnapshot } from "../test/support/samples.ts";
import { QUOTAS } from "../src/features/quota/quota-forecast.ts";

/** What dashboards and alerts of strangers rely on. A change here breaks them. The page has this order. */
export const CONTRACT: string = `
gauge     pacewatch_upstream_info upstream,budget
counter   pacewatch_slots_total upstream
gauge     pacewatch_polls_in_flight upstream
counter   pacewatch_polls_total upstream,outcome
counter   pacewatch_poll_reasons_total upstream,outcome,reason
counter   pacewatch_polls_skipped_total upstream,cause
counter   pacewatch_polls_within_objective_total upstream
counter   pacewatch_upstream_watched_seconds_total upstream,outcome
counter   pacewatch_responses_total upstream,code
histogram pacewatch_poll_duration_seconds upstream,outcome
summary   pacewatch_poll_phase_duration_seconds upstream,phase
histogram pacewatch_stream_first_event_seconds upstream
histogram pacewatch_stream_longest_gap_seconds upstream
summary   pacewatch_poll_delay_seconds upstream
gauge     pacewatch_poll_delay_max_seconds upstream
gauge     pacewatch_upstream_up upstream
gauge     pacewatch_upstream_state upstream,state
gauge     pacewatch_last_poll_timestamp_seconds upstream
gauge     pacewatch_last_success_timestamp_seconds upstream
gauge     pacewatch_schedule_period_seconds upstream
gauge     pacewatch_schedule_watched_ratio upstream
gauge     pacewatch_stalled_at_timestamp_seconds upstream
gauge     pacewatch_tls_certificate_expiry_timestamp_seconds upstream
gauge     pacewatch_upstream_deprecation_timestamp_seconds upstream
gauge     pacewatch_upstream_sunset_timestamp_seconds upstream
gauge     pacewatch_upstream_value upstream,name,unit
gauge     pacewatch_upstream_value_timestamp_seconds upstream,name
gauge     pacewatch_upstream_value_readable upstream,name
gauge     pacewatch_upstream_credit_burn_per_second upstream,name,window
gauge     pacewatch_upstream_credit_empty_timestamp_seconds upstream,name,window
gauge     pacewatch_objective_ratio upstream
gauge     pacewatch_objective_latency_seconds upstream
counter   pacewatch_spend_total upstream,currency
counter   pacewatch_signals_malformed_total upstream
gauge     pacewatch_budget_limit_requests budget,per
gauge     pacewatch_budget_cap_requests budget,per
gauge     pacewatch_budget_leases budget,per
gauge     pacewatch_budget_advertised_limit_requests budget
gauge     pacewatch_budget_advertised_remaining_requests budget
gauge     pacewatch_budget_paused_until_timestamp_seconds budget
gauge     pacewatch_budget_quota_limit_requests budget
gauge     pacewatch_budget_quota_used_requests budget
gauge     pacewatch_budget_quota_unconfirmed_requests budget
gauge     pacewatch_budget_quota_forecast_requests budget
gauge     pacewatch_budget_spend_limit budget,currency
gauge     pacewatch_budget_spend_used budget,currency
gauge     pacewatch_budget_spend_forecast budget,currency
gauge     pacewatch_budget_quota_burn_per_second budget,quota,window
gauge     pacewatch_budget_quota_empty_timestamp_seconds budget,quota,window
gauge     pacewatch_state_store_up
gauge     pacewatch_state_lost_timestamp_seconds
gauge     pacewatch_offline_upstreams
gauge     pacewatch_leader
gauge     pacewatch_lock_up
gauge     pacewatch_config_info digest
counter   pacewatch_notifications_total receiver,outcome
gauge     pacewatch_notifications_oldest_pending_seconds receiver
gauge     pacewatch_config_last_reload_successful
gauge     pacewatch_config_last_reload_success_timestamp_seconds
gauge     pacewatch_build_info version,node
`;

type Shown = Description & { readonly labels: readonly string[] };

const FAMILIES = renderProtobuf(fullMetricsSnapshot());

/** What `/metrics` can show, with the labels that it has where all is known. */
export const CATALOGUE: readonly Shown[] = METRICS.flatMap(({ upstream, budget, process }) =>
  Object.entries({ ...upstream, ...budget, ...process }),
)
  .map(([name, { type, help }]) => {
    const labels = (FAMILIES.get(name)?.metrics ?? []).flatMap((metric) => Object.keys(metric.labels));
    // The sample's config gives it one of its own.
    return { name, type, help, labels: [...new Set(labels)].filter((label) => label !== "team") };
  })
  .toSorted((a, b) => placeOf(a) - placeOf(b));

function placeOf({ name }: Shown): number {
  return CONTRACT.search(new RegExp(`\\b${name}\\b`));
}

/** Labels whose values are a closed set, whichever metric carries them. */
export const CLOSED_LABELS: Readonly<Record<string, readonly string[]>> = {
  outcome: [...OUTCOMES, "delivered", "refused"],
  reason: REASON_NAMES,
  cause: SKIP_CAUSES,
  code: CODE_LABELS,
  phase: PHASES,
  state: HEALTH_STATES,
  window: BURN_WINDOWS,
  quota: QUOTAS,
};

const SECTIONS: readonly (readonly [heading: string, firstLabel: string | undefined])[] = [
  ["Of each upstream", "upstream"],
  ["Of each budget", "budget"],
  ["Of the process", undefined],
];

/** Of one upstream. A test counts them. */
export const SERIES: Readonly<
  Record<"atStart" | "healthy" | "healthyInProtobuf" | "allKnown" | "most", number>
> = {
  atStart: 34,
  healthy: 49,
  healthyInProtobuf: 35,
  allKnown: 102,
  most: 61 + ["reason", "cause", "code"].flatMap((label) => CLOSED_LABELS[label] ?? []).length,
};

const FORMAT_ROWS: readonly (readonly string[])[] = [
  ["text 0.0.4, text 1.0.0", "with the buckets below", "no", "no"],
  ["OpenMetrics 1.0", "with the buckets below", "no", "yes"],
  ["protobuf", "native, and with the buckets below", "yes", "yes"],
];

export function metricsPage(): string {
  const sections = SECTIONS.map(([heading, firstLabel]) => {
    const metrics = CATALOGUE.filter((metric) => ownerLabel(metric) === firstLabel);
    return `## ${heading}\n\n${table(["Metric", "Type", "Labels", "Meaning"], metrics.map(metricRow))}`;
  });
  return `# Metrics

<!-- Written by \`node tools/docs-metrics.ts\` from what src/app/features/shown.ts lists: change it there. -->

What \`GET /metrics\` shows. Each upstream is read in one go, so for every upstream, at every scrape,
\`slots = polls + in flight + skipped\`, and the reasons of an outcome add up to it:

\`\`\`promql
pacewatch_slots_total
  == sum without (outcome) (pacewatch_polls_total)
   + pacewatch_polls_in_flight
   + (sum without (cause) (pacewatch_polls_skipped_total) or 0 * pacewatch_slots_total)
\`\`\`

The outcomes exist at 0 from an upstream's first second, and so do the status codes that it is expected to answer.
What seldom happens appears when it first does: other codes, reasons, causes of skips, phases of a poll, the durations
of polls that were not ok. Counters survive a reload, and go when their upstream leaves the config. What is not known
yet is absent, not 0.

A value is absent again when it was not seen for three periods of its upstream, or ten minutes where these are shorter.

A healthy upstream with HTTPS has ${SERIES.healthy} series, and ${SERIES.healthyInProtobuf} in protobuf, where a histogram is one. It has
${SERIES.atStart} before its first poll, ${SERIES.allKnown} once everything about it, one credit, a price, a calendar with nights and a stream is known, and ${SERIES.most} with every status code,
reason and cause seen (each code beyond the first in \`expect.status\` is one more from the start). Each of its \`values\`
is two more, and a credit up to eight.

## Formats

The header \`Accept\` decides, by its weights, and text 0.0.4 is for all who ask for nothing that Pacewatch has. By
\`Accept-Encoding\`, each format comes plain, in gzip or in zstd.

${table(["Format", "Histograms", "Start timestamps", "Exemplars"], FORMAT_ROWS)}
Prometheus asks for protobuf where native histograms are on (\`--enable-feature=native-histograms\`, or
\`scrape_native_histograms: true\` in newer ones). Then \`pacewatch_poll_duration_seconds\` has no \`_bucket\`, \`_sum\` and
\`_count\`: \`histogram_quantile(0.9, rate(pacewatch_poll_duration_seconds[5m]))\` is the quantile, \`histogram_count()\` and
\`histogram_sum()\` are the rest. Each bucket's bound is 9 % above the one before. With
\`created-timestamp-zero-ingestion\`, a counter that appears at 1 counts in \`rate()\`.

An exemplar is the newest poll of an outcome, on \`pacewatch_polls_total\` and \`pacewatch_poll_duration_seconds\`: \`poll_id\`
is its id on the page and in the API, \`poll_page\` where the page has it (after \`/upstreams/\`), \`request_id\` the
provider's, where the answer told one. A dot in Grafana leads there if its data source says so
([provisioning](../config/grafana/provisioning/datasources/prometheus.yaml): \`exemplarTraceIdDestinations\`).

${sections.join("\n")}
## Labels

${table(["Label", "Values"], labelRows())}
\`upstream\` and \`budget\` are the names in the config; \`per\` is the window of a rate (\`1s\`, \`1m\`, \`1h\`).
Where the config has a \`vantage\`, its name is a label of every sample. \`pacewatch_upstream_info\` also carries the \`labels\` that the config gives the upstream. The rules look labels and links up for each alert that is pending or firing, so they cost nothing while all is well. With 1,000 upstreams that were all down, two labels and a link made all rules together take 1.5 times as long (Prometheus 2.42, beside the same rules without them in one run).

## Reasons and causes

Why a poll was not ok. \`failed\` counts against the availability; the other outcomes do not. The page and the API tell
whose fault it is by more than the reason, as far as they can ([what an answer says](signals.md)).

${table(["Reason", "Outcome", "On the page", "The poll …"], reasonRows())}
Why a slot ended without a poll, in metrics, in the log and in the API:

${table(["Cause", "On the page", "Because …"], causeRows())}
## What else there is

The metrics \`process_*\` and \`nodejs_*\` about the process itself come from the client library. The percentiles of the event loop's lag (\`nodejs_eventloop_lag_p99_seconds\` and six more) are not among them: the library fills them by waking up 100 times a second, which costs more than the polls of most configs. \`pacewatch_poll_delay_seconds\` tells how late polls are.
`;
}

function ownerLabel({ labels: [first] }: Shown): string | undefined {
  return first === "upstream" || first === "budget" ? first : undefined;
}

function metricRow({ name, type, labels, help }: Shown): readonly string[] {
  return [code(name), type, labels.map(code).join(", "), help];
}

function labelRows(): readonly (readonly string[])[] {
  return Object.entries(CLOSED_LABELS).map(([label, values]) => [
    code(label),
    values.map((value) => (value === "" ? "(empty)" : code(value))).join(", "),
  ]);
}

function reasonRows(): readonly (readonly string[])[] {
  return REASON_NAMES.map((reason) => {
    const { outcome, words, phrase } = REASONS[reason];
    return [code(reason), code(outcome), words, typeof phrase === "string" ? phrase : phrase()];
  });
}

function causeRows(): readonly (readonly string[])[] {
  return SKIP_CAUSES.map((cause) => [code(cause), SKIPS[cause].words, SKIPS[cause].because]);
}

function code(text: string): string {
  return `\`${text}\``;
}

/** Aligned as the formatter would align it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, 3, ...rows.map((row) => (row[column] ?? "").length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, column) => (cells[column] ?? "").padEnd(width)).join(" | ")} |\n`;
  return [head, widths.map((width) => "-".repeat(width)), ...rows].map(line).join("");
}

if (import.meta.main) {
  writeFileSync(fileURLToPath(new URL("../docs/metrics.md", import.meta.url)), metricsPage());
}
