/** One snapshot in the text format 0.0.4 of Prometheus: all numbers are of the same moment. */

import { BUDGET_SERIES, PROCESS_SERIES, UPSTREAM_SERIES } from "./catalogue-series.ts";
import {
  type BudgetMetric,
  METRIC_NAMES,
  type MetricName,
  metricNamed,
  type UpstreamMetric,
} from "./catalogue.ts";
import { type Labels, labelText, type SeriesOf } from "./series.ts";
import type { MetricsSnapshot, OwnedSnapshot, ScrapedUpstream } from "./snapshot.ts";

/** All at once. */
export function renderExposition(snapshot: MetricsSnapshot): string {
  const owned = { ...snapshot, vantage: snapshot.fleet?.vantage };
  return [...ownedPieces(owned)].join("") + processText(snapshot);
}

/**
 * Piece by piece, each in less than a millisecond, so that other work can run in between. The snapshot must not change
 * meanwhile.
 */
export function* ownedPieces({ upstreams, budgets, vantage }: OwnedSnapshot): Generator<string> {
  const everywhere = vantageLabels(vantage);
  const ofUpstreams = upstreams.map((entry) => owned(entry, upstreamLabels(entry.upstream, vantage)));
  const ofBudgets = budgets.map((budget) =>
    owned(budget, labelText([["budget", budget.name], ...everywhere])),
  );
  for (const name of METRIC_NAMES) {
    if (isUpstreamMetric(name)) yield* family(name, ofUpstreams, UPSTREAM_SERIES[name]);
    else if (isBudgetMetric(name)) yield* family(name, ofBudgets, BUDGET_SERIES[name]);
  }
}

/** The few lines that belong to no upstream and no budget. */
export function processText(snapshot: MetricsSnapshot): string {
  const process = [owned(snapshot, labelText(vantageLabels(snapshot.fleet?.vantage)))];
  let text = "";
  for (const name of METRIC_NAMES) {
    if (isUpstreamMetric(name) || isBudgetMetric(name)) continue;
    for (const piece of family(name, process, PROCESS_SERIES[name])) text += piece;
  }
  return text;
}

function vantageLabels(vantage: string | undefined): Labels {
  return vantage === undefined ? [] : [["vantage", vantage]];
}

const knownLabels = new WeakMap<
  ScrapedUpstream,
  { readonly vantage: string | undefined; readonly text: string }
>();

/** Made once: every scrape needs them. */
function upstreamLabels(upstream: ScrapedUpstream, vantage: string | undefined): string {
  const known = knownLabels.get(upstream);
  if (known !== undefined && known.vantage === vantage) return known.text;
  const text = labelText([["upstream", upstream.name], ...vantageLabels(vantage)]);
  knownLabels.set(upstream, { vantage, text });
  return text;
}

/** An owner with the text between name and number: its own label alone, or before other labels. */
type Owned<Owner> = { readonly owner: Owner; readonly alone: string; readonly before: string };

function owned<Owner>(owner: Owner, label: string): Owned<Owner> {
  if (label === "") return { owner, alone: " ", before: "{" };
  return { owner, alone: `{${label}} `, before: `{${label},` };
}

const PIECE_CHARACTERS = 32_768;

function* family<Owner>(
  name: MetricName,
  owners: readonly Owned<Owner>[],
  seriesOf: SeriesOf<Owner>,
): Generator<string> {
  let samples = "";
  let isNamed = false;
  for (const one of owners) {
    samples += samplesOf(name, one, seriesOf);
    if (!isNamed && samples !== "") {
      samples = preamble(name) + samples;
      isNamed = true;
    }
    if (samples.length < PIECE_CHARACTERS) continue;
    yield samples;
    samples = "";
  }
  if (samples !== "") yield samples;
}

function samplesOf<Owner>(
  name: MetricName,
  { owner, alone, before }: Owned<Owner>,
  seriesOf: SeriesOf<Owner>,
): string {
  let samples = "";
  for (const { suffix, labels, read } of seriesOf(owner)) {
    const value = read(owner);
    if (value !== undefined && !Number.isNaN(value)) {
      samples +=
        name + suffix + (labels === "" ? alone : before + labels + "} ") + formatNumber(value) + "\n";
    }
  }
  return samples;
}

/** Only written for a metric with a sample. */
function preamble(name: MetricName): string {
  const { help, type } = metricNamed(name);
  const escaped = help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return `# HELP ${name} ${escaped}\n# TYPE ${name} ${type}\n`;
}

function formatNumber(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}

function isUpstreamMetric(name: MetricName): name is UpstreamMetric {
  return Object.hasOwn(UPSTREAM_SERIES, name);
}

function isBudgetMetric(name: MetricName): name is BudgetMetric {
  return Object.hasOwn(BUDGET_SERIES, name);
}
