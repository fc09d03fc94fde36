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
} from "../kernel/metrics/family.ts";
import type { MetricsSnapshot } from "../kernel/metrics/snapshot.ts";

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
  const { upstreams, budgets, startedAtMs, vantage } = snapshot;
  const everywhere = vantage === undefined ? NO_LABELS : { vantage };
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
