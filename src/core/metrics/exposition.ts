import { Bytes } from "./bytes.ts";
import { type Add, type Metric, OF_BUDGET, OF_PROCESS, OF_UPSTREAM } from "./catalogue.ts";
import { type Description, type Format, type Labels, NO_LABELS, type Sample } from "./sample.ts";
import type { MetricsSnapshot } from "./snapshot.ts";

/** Samples that others have read. */
export type Family = Description & { readonly samples: readonly Sample[] };

/**
 * One scrape in one format. Each upstream is read and written in one go, so its numbers are of one moment; other work can
 * run after each. The bytes come at the end, a family at a time: a family has samples of all upstreams. Each piece is to be
 * copied before the next one is asked for, as its memory is free then.
 */
export function* expose(
  snapshot: MetricsSnapshot,
  others: readonly Family[],
  format: Format,
): Generator<Uint8Array | undefined> {
  const vantage = snapshot.fleet?.vantage;
  const everywhere: Labels = vantage === undefined ? NO_LABELS : { vantage };
  const ofUpstream = OF_UPSTREAM.map(unwritten);
  for (const subject of snapshot.upstreams) {
    const labels = { upstream: subject.upstream.name, ...everywhere };
    write(ofUpstream, subject, labels, subject.accounts.startedAtMs, format);
    yield undefined;
  }
  const ofBudget = OF_BUDGET.map(unwritten);
  for (const subject of snapshot.budgets) {
    write(ofBudget, subject, { budget: subject.name, ...everywhere }, snapshot.startedAtMs, format);
    yield undefined;
  }
  const ofProcess = OF_PROCESS.map(unwritten);
  write(ofProcess, snapshot, everywhere, snapshot.startedAtMs, format);
  for (const written of [...ofUpstream, ...ofBudget, ...ofProcess]) yield* piecesOf(written, format);
  for (const family of others) {
    const written = unwritten(family);
    for (const sample of family.samples) format.sample(written.samples, family, NOTHING, sample);
    yield* piecesOf(written, format);
  }
  yield format.end;
}

type Written<Of extends Description> = { readonly metric: Of; readonly samples: Bytes };

function unwritten<Of extends Description>(metric: Of): Written<Of> {
  return { metric, samples: new Bytes() };
}

function write<Subject>(
  families: readonly Written<Metric<Subject>>[],
  subject: Subject,
  labelsOfSubject: Labels,
  bornAtMs: number,
  format: Format,
): void {
  COMMON.length = 0;
  format.labels(COMMON, labelsOfSubject);
  const common = COMMON.written;
  let metric: Metric<Subject>;
  let samples: Bytes;
  const add: Add = (value, labels = NO_LABELS, { startedAtMs = bornAtMs, exemplar } = NOTHING_MORE) => {
    if (value === undefined || Number.isNaN(value)) return;
    format.sample(samples, metric, common, { labels, value, startedAtMs, exemplar });
  };
  for (const family of families) {
    ({ metric, samples } = family);
    metric.read(subject, add);
  }
}

function* piecesOf({ metric, samples }: Written<Description>, format: Format): Generator<Uint8Array> {
  if (samples.length > 0) {
    yield format.head(metric, samples.length);
    yield samples.written;
  }
  samples.free();
}

/** The labels of what is read now. */
const COMMON = new Bytes();
const NOTHING = new Uint8Array(0);
const NOTHING_MORE: Pick<Sample, "startedAtMs" | "exemplar"> = {};
