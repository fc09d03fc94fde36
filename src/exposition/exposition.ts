import { Bytes } from "./bytes.ts";
import type { Format } from "./format.ts";
import {
  type Add,
  type Description,
  type Families,
  type Family,
  type Labels,
  type Metrics,
  NO_LABELS,
  type Distribution,
} from "../kernel/metrics/family.ts";
import type { MetricsSnapshot } from "../kernel/metrics/snapshot.ts";
import {
  collectDefaultMetrics,
  type MetricObjectWithValues,
  type MetricValueWithName,
  Registry,
} from "prom-client";
import { SECOND_MS } from "../kernel/time/duration.ts";

/**
 * One scrape in one format. Each upstream is read and written in one go, so its numbers are of one moment; other work can
 * run after each. The bytes come at the end, a family at a time: a family has samples of all upstreams. Each piece is to be
 * copied before the next one is asked for, as its memory is free then.
 */
export function* expose(
  metrics: readonly Metrics[],
  snapshot: MetricsSnapshot,
  format: Format,
): Generator<Uint8Array | undefined> {
  const { upstreams, budgets, startedAtMs } = snapshot;
  const everywhere: Labels = Object.assign({}, ...metrics.map((each) => each.everywhere?.(snapshot)));
  const families = [
    yield* written(
      format,
      metrics.map((each) => each.upstream),
      upstreams,
      ({ upstream: { name }, accounts }) => ({
        labels: { upstream: name, ...everywhere },
        startedAtMs: accounts.startedAtMs,
      }),
    ),
    yield* written(
      format,
      metrics.map((each) => each.budget),
      budgets,
      ({ name }) => ({
        labels: { budget: name, ...everywhere },
        startedAtMs,
      }),
    ),
    yield* written(
      format,
      metrics.map((each) => each.process),
      [snapshot],
      () => ({ labels: everywhere, startedAtMs }),
    ),
  ].flat();
  for (const { metric, samples } of families) {
    if (samples.length > 0) {
      yield format.head(metric, samples.length);
      yield samples.written;
    }
    samples.free();
  }
  yield format.end;
}

type Owner = { readonly labels: Labels; readonly startedAtMs: number };
type Written<Subject> = { readonly metric: Description & Family<Subject>; readonly samples: Bytes };

/** The families with the samples of all subjects. */
function* written<Subject>(
  format: Format,
  metrics: readonly (Families<Subject> | undefined)[],
  subjects: Iterable<Subject>,
  ownerOf: (subject: Subject) => Owner,
): Generator<undefined, readonly Written<never>[]> {
  const families = metrics.flatMap((named = {}) =>
    Object.entries(named).map(([name, row]) => ({ metric: { name, ...row }, samples: new Bytes() })),
  );
  const common = new Bytes();
  let owner: Owner;
  let family: Written<Subject>;
  const add: Add = (read, labels = NO_LABELS, { startedAtMs = owner.startedAtMs, exemplar } = owner) => {
    const value = typeof read === "boolean" ? Number(read) : read;
    if (value === undefined || Number.isNaN(value)) return;
    format.sample(family.samples, family.metric, common, { labels, value, startedAtMs, exemplar });
  };
  for (const subject of subjects) {
    owner = ownerOf(subject);
    common.length = 0;
    format.labels(common, owner.labels);
    for (family of families) family.metric.read(subject, add);
    yield undefined;
  }
  return families;
}

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
