import {
  collectDefaultMetrics,
  type MetricObjectWithValues,
  type MetricValueWithName,
  Registry,
} from "prom-client";
import { expose, type Family } from "../../core/metrics/exposition.ts";
import type { Format, Labels, Sample, Value } from "../../core/metrics/sample.ts";
import type { MetricsSnapshot } from "../../core/metrics/snapshot.ts";
import { SECOND_MS } from "../../core/time/duration.ts";

/** One scrape in pieces, with the numbers of the process last. Other work can run after each piece. */
export async function scrape(
  snapshot: () => MetricsSnapshot,
  format: Format,
): Promise<Iterable<Uint8Array | undefined>> {
  const ofProcess = await processRegistry().getMetricsAsJSON();
  const now = snapshot();
  return expose(
    now,
    ofProcess.map((metric) => familyOf(metric, now.startedAtMs)),
    format,
  );
}

/** The library goes by what the wall clock said when it was loaded. */
const STARTED = "process_start_time_seconds";

type LibraryMetric = MetricObjectWithValues<MetricValueWithName<string>>;

function familyOf({ name, help, type, values }: LibraryMetric, startedAtMs: number): Family {
  const bySeries = Map.groupBy(values, ({ labels }) => JSON.stringify({ ...labels, le: undefined }));
  const samples = bySeries.entries().map(([labels, parts]): Sample => {
    const number = name === STARTED ? startedAtMs / SECOND_MS : (parts[0]?.value ?? 0);
    const value = type === "histogram" ? distributionOf(name, parts) : number;
    return { labels: labelsOf(labels), value, startedAtMs };
  });
  return { name, help, type, samples: samples.toArray() };
}

function labelsOf(json: string): Labels {
  const labels: Readonly<Record<string, string | number>> = JSON.parse(json);
  return Object.fromEntries(Object.entries(labels).map(([label, value]) => [label, String(value)]));
}

/** The library has each bucket, the sum and the count apart. */
function distributionOf(name: string, parts: LibraryMetric["values"]): Value {
  const part = (suffix: string): number =>
    parts.find(({ metricName }) => metricName === name + suffix)?.value ?? 0;
  const buckets = parts.filter(({ labels: { le } }) => Number.isFinite(Number(le)));
  return {
    bounds: buckets.map(({ labels: { le } }) => Number(le)),
    count: part("_count"),
    sum: part("_sum"),
    atOrUnder: (index) => buckets[index]?.value ?? part("_count"),
  };
}

/** The linter of Prometheus refuses these names of the library. */
const MISNAMED = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/** The library fills these by waking up 110 times a second, which costs more than hundreds of upstreams. */
const WATCHED = [
  ...["min", "max", "mean", "stddev", "p50", "p90", "p99"].map(
    (what) => `nodejs_eventloop_lag_${what}_seconds`,
  ),
  "nodejs_eventloop_utilization_histogram",
  "nodejs_eventloop_utilization_summary",
];
/** As long as a timer can be. */
const NEVER_MS = 2 ** 31 - 1;

let registry: Registry | undefined;

/**
 * One for the whole process: what the library starts (its timer, its observer of the garbage collector) can never be
 * stopped. None of it keeps the process alive.
 */
function processRegistry(): Registry {
  if (registry === undefined) {
    registry = new Registry();
    collectDefaultMetrics({
      register: registry,
      eventLoopMonitoringPrecision: NEVER_MS,
      eventLoopUtilizationTimeout: NEVER_MS,
    });
    for (const name of [...MISNAMED, ...WATCHED]) registry.removeSingleMetric(name);
  }
  return registry;
}
