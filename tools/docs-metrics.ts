/** Writes docs/metrics.md from the catalogue: `node tools/docs-metrics.ts`. */

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CLOSED_LABELS, METRIC_NAMES, metricNamed, type MetricName } from "../src/core/metrics/catalogue.ts";

const SECTIONS: readonly (readonly [heading: string, firstLabel: string | undefined])[] = [
  ["Of each upstream", "upstream"],
  ["Of each budget", "budget"],
  ["Of the process", undefined],
];

/** Of one upstream. A test counts them. */
export const SERIES: Readonly<Record<"atStart" | "allKnown" | "most", number>> = {
  atStart: 101,
  allKnown: 127,
  most: 172,
};

export function metricsPage(): string {
  const sections = SECTIONS.map(([heading, firstLabel]) => {
    const names = METRIC_NAMES.filter((name) => ownerLabel(name) === firstLabel);
    return `## ${heading}\n\n${table(["Metric", "Type", "Labels", "Meaning"], names.map(metricRow))}`;
  });
  return `# Metrics

<!-- Written by \`node tools/docs-metrics.ts\` from src/core/metrics/catalogue.ts: change it there. -->

What \`GET /metrics\` shows, in text format 0.0.4. A scrape is one synchronous snapshot, so for every upstream, at
every scrape, \`slots = polls + in flight + skipped\`:

\`\`\`promql
pacewatch_slots_total
  == sum without (outcome) (pacewatch_polls_total)
   + pacewatch_polls_in_flight
   + (sum without (cause) (pacewatch_polls_skipped_total) or 0 * pacewatch_slots_total)
\`\`\`

Counters and histograms of an upstream exist at 0 from its first second, survive a reload, and go when it leaves
the config. What is not known yet is absent, not 0. The status codes that an upstream is expected to answer exist
from the start; any other appears when it is first seen, and so does each phase of a poll.

A value is absent again when it was not seen for three periods of its upstream, or ten minutes where these are shorter.

An upstream has ${SERIES.atStart} series at its start, ${SERIES.allKnown} once everything about it and one credit is known, and ${SERIES.most} with every
status code seen (each code beyond the first in \`expect.status\` is one more from the start). Each of its \`values\` is
two more, and a credit up to eight.

${sections.join("\n")}
## Labels

${table(["Label", "Values"], labelRows())}
\`upstream\` and \`budget\` are the names in the config; \`per\` is the window of a rate (\`1s\`, \`1m\`, \`1h\`).
\`pacewatch_upstream_info\` also carries the \`labels\` that the config gives the upstream.

In a fleet of the mode \`everywhere\`, every metric of this page also carries \`vantage\`: the name of the replica that saw it.

The metrics \`process_*\` and \`nodejs_*\` about the process itself come from the client library. The percentiles of the event loop's lag (\`nodejs_eventloop_lag_p99_seconds\` and six more) are not among them: the library fills them by waking up 100 times a second, which costs more than the polls of most configs. \`pacewatch_poll_delay_seconds\` tells how late polls are.
`;
}

function ownerLabel(name: MetricName): string | undefined {
  const [first] = metricNamed(name).labels;
  return first === "upstream" || first === "budget" ? first : undefined;
}

function metricRow(name: MetricName): readonly string[] {
  const { type, labels, help, buckets } = metricNamed(name);
  const meaning = buckets === undefined ? help : `${help} Buckets: ${buckets.join(", ")}.`;
  return [code(name), type, labels.map(code).join(", "), meaning];
}

function labelRows(): readonly (readonly string[])[] {
  return Object.entries(CLOSED_LABELS).map(([label, values]) => [
    code(label),
    values.map((value) => (value === "" ? "(empty)" : code(value))).join(", "),
  ]);
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
