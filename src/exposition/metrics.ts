import {
  collectDefaultMetrics,
  type MetricObjectWithValues,
  type MetricValueWithName,
  Registry,
} from "prom-client";
import { expose } from "./exposition.ts";
import type { Format } from "./format.ts";
import type { Distribution, Family, Labels, Metrics } from "../kernel/metrics/family.ts";
import type { MetricsSnapshot } from "../kernel/metrics/snapshot.ts";
import { SECOND_MS } from "../kernel/time/duration.ts";

/** One scrape in pieces, with the numbers of the process last. Other work can run after each piece. */
export async function scrape(
  metrics: readonly Metrics[],
  snapshot: () => MetricsSnapshot,
  format: Format,
): Promise<Iterable<Uint8Array | undefined>> {
  const ofProcess = await processRegistry().getMetricsAsJSON();
  const ofLibrary = Object.fromEntries(ofProcess.map((metric) => [metric.name, familyOf(metric)]));
  return expose([...metrics, { process: ofLibrary }], snapshot(), format);
}

/** The library goes by what the wall clock said when it was loaded. */
const STARTED = "process_start_time_seconds";

type LibraryMetric = MetricObjectWithValues<MetricValueWithName<string>>;

function familyOf({ name, help, type, values }: LibraryMetric): Family<MetricsSnapshot> {
  return {
    help,
    type,
    read: ({ startedAtMs }, add) => {
      if (name === STARTED) return add(startedAtMs / SECOND_MS);
      if (type !== "histogram") return values.forEach(({ value, labels }) => add(value, textsOf(labels)));
      const bySeries = Map.groupBy(values, ({ labels }) => JSON.stringify({ ...labels, le: undefined }));
      bySeries.forEach((parts, labels) => add(distributionOf(name, parts), JSON.parse(labels)));
    },
  };
}

function textsOf(labels: LibraryMetric["values"][number]["labels"]): Labels {
  return Object.fromEntries(Object.entries(labels).map(([label, value]) => [label, String(value)]));
}

/** The library has each bucket, the sum and the count apart. */
function distributionOf(name: string, parts: LibraryMetric["values"]): Distribution {
  const part = (suffix: string): number =>
    parts.find(({ metricName }) => metricName === name + suffix)?.value ?? 0;
  const buckets = parts.filter(({ labels: { le } }) => Number.isFinite(Number(le)));
  return {
    bounds: buckets.map(({ labels: { le } }) => Number(le)),
    counts: buckets.map(({ value }) => value),
    count: part("_count"),
    sum: part("_sum"),
  };
}

/** The linter of Prometheus refuses these names of the library. */
const MISNAMED = /^nodejs_active_\w+_total$/;

/** The library fills these by waking up 110 times a second, which costs more than hundreds of upstreams. */
const WATCHED = /^nodejs_eventloop_(lag_\w+_seconds|utilization_\w+)$/;
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
    for (const { name } of registry.getMetricsAsArray())
      if (MISNAMED.test(name) || WATCHED.test(name)) registry.removeSingleMetric(name);
  }
  return registry;
}
