import { type Add, type Metric, OF_BUDGET, OF_PROCESS, OF_UPSTREAM } from "./catalogue.ts";
import {
  type Description,
  type FamilyWriter,
  type Format,
  type Labels,
  NO_LABELS,
  type Sample,
} from "./sample.ts";
import type { MetricsSnapshot } from "./snapshot.ts";

/** Samples that others have read. */
export type Family = Description & { readonly samples: readonly Sample[] };

/**
 * One scrape in one format. Each upstream is read and written in one go, so its numbers are of one moment; other work can
 * run after each. The bytes come at the end, a family at a time: a family has samples of all upstreams.
 */
export function* expose(
  snapshot: MetricsSnapshot,
  others: readonly Family[],
  format: Format,
): Generator<Uint8Array | undefined> {
  const vantage = snapshot.fleet?.vantage;
  const everywhere: Labels = vantage === undefined ? NO_LABELS : { vantage };
  const ofUpstream = writers(OF_UPSTREAM, format);
  for (const subject of snapshot.upstreams) {
    const labels = format.labels({ upstream: subject.upstream.name, ...everywhere });
    write(ofUpstream, subject, labels, subject.accounts.startedAtMs);
    yield undefined;
  }
  const ofBudget = writers(OF_BUDGET, format);
  for (const subject of snapshot.budgets) {
    const labels = format.labels({ budget: subject.name, ...everywhere });
    write(ofBudget, subject, labels, snapshot.startedAtMs);
    yield undefined;
  }
  const ofProcess = writers(OF_PROCESS, format);
  write(ofProcess, snapshot, format.labels(everywhere), snapshot.startedAtMs);
  for (const { writer } of [...ofUpstream, ...ofBudget, ...ofProcess]) yield writer.written();
  const none = format.labels(NO_LABELS);
  for (const { samples, ...description } of others) {
    const writer = format.family(description);
    for (const sample of samples) writer.add(none, sample);
    yield writer.written();
  }
  yield format.end;
}

type Written<Subject> = { readonly metric: Metric<Subject>; readonly writer: FamilyWriter };

function writers<Subject>(metrics: readonly Metric<Subject>[], format: Format): readonly Written<Subject>[] {
  return metrics.map((metric) => ({ metric, writer: format.family(metric) }));
}

function write<Subject>(
  families: readonly Written<Subject>[],
  subject: Subject,
  common: Uint8Array,
  bornAtMs: number,
): void {
  let writer: FamilyWriter;
  const add: Add = (value, labels = NO_LABELS, more = NOTHING_MORE) => {
    if (value === undefined || Number.isNaN(value)) return;
    writer.add(common, { labels, value, startedAtMs: more.startedAtMs ?? bornAtMs, exemplar: more.exemplar });
  };
  for (const family of families) {
    ({ writer } = family);
    family.metric.read(subject, add);
  }
}

const NOTHING_MORE: Pick<Sample, "startedAtMs" | "exemplar"> = {};
