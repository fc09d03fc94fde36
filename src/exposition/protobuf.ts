import { Bytes } from "./bytes.ts";
import { eachBucket, type Format } from "./format.ts";
import type { Description, Distribution, Labels, MetricType, Sample } from "../kernel/metrics/family.ts";
import {
  type Exemplar,
  type ExponentialBuckets,
  SCHEMA,
  ZERO_THRESHOLD,
} from "../kernel/metrics/histogram.ts";

/** `io.prometheus.client.MetricFamily` messages, each with its length before it. */
export class ProtobufFormat implements Format {
  readonly end: Uint8Array = new Uint8Array(0);

  labels(out: Bytes, labels: Labels): void {
    writeLabels(out, METRIC.label, labels);
  }

  sample(out: Bytes, { type }: Description, common: Bytes, sample: Sample): void {
    const metric = out.begin(FAMILY.metric);
    out.copy(common);
    writeLabels(out, METRIC.label, sample.labels);
    const { value, startedAtMs, exemplar } = sample;
    if (typeof value === "number") {
      const isCounter = type === "counter";
      const at = out.begin(isCounter ? METRIC.counter : METRIC.gauge);
      out.number(NUMBER.value, value);
      if (exemplar !== undefined) writeExemplar(out, NUMBER.exemplar, exemplar);
      if (isCounter) writeStart(out, NUMBER.startedAt, startedAtMs);
      out.end(at);
    } else if (value.bounds !== undefined) {
      writeHistogram(out, value, sample);
    } else {
      const at = out.begin(METRIC.summary);
      out.whole(SUMMARY.count, value.count);
      out.number(SUMMARY.sum, value.sum);
      writeStart(out, SUMMARY.startedAt, startedAtMs);
      out.end(at);
    }
    out.end(metric);
  }

  head({ name, help, type }: Description, samplesBytes: number): Uint8Array {
    const fields = new Bytes();
    fields.string(FAMILY.name, name);
    fields.string(FAMILY.help, help);
    fields.whole(FAMILY.type, TYPES[type]);
    const out = new Bytes();
    out.varint(fields.length + samplesBytes);
    out.copy(fields);
    return out.written;
  }
}

function writeHistogram(out: Bytes, value: Distribution, { startedAtMs, exemplar }: Sample): void {
  const at = out.begin(METRIC.histogram);
  out.whole(HISTOGRAM.count, value.count);
  out.number(HISTOGRAM.sum, value.sum);
  // In them, every version of Prometheus looks for exemplars.
  eachBucket(value, exemplar, (bound, count, one) => {
    if (bound === Infinity && one === undefined) return;
    const bucket = out.begin(HISTOGRAM.bucket);
    out.whole(BUCKET.count, count);
    out.number(BUCKET.upperBound, bound);
    if (one !== undefined) writeExemplar(out, BUCKET.exemplar, one);
    out.end(bucket);
  });
  if (value.exponential !== undefined) writeExponential(out, value.exponential);
  writeStart(out, HISTOGRAM.startedAt, startedAtMs);
  out.end(at);
}

/** Only buckets that count something are written, each as the difference to the one before. */
function writeExponential(out: Bytes, { zeroCount, first, counts }: ExponentialBuckets): void {
  out.whole(HISTOGRAM.schema, zigzag(SCHEMA));
  out.number(HISTOGRAM.zeroThreshold, ZERO_THRESHOLD);
  out.whole(HISTOGRAM.zeroCount, zeroCount);
  let endOfLast = 0;
  for (let place = 0; place < counts.length;) {
    const from = place;
    while ((counts[place] ?? 0) > 0) place += 1;
    if (place > from) {
      const span = out.begin(HISTOGRAM.span);
      out.whole(SPAN.offset, zigzag(first + from - endOfLast));
      out.whole(SPAN.length, place - from);
      out.end(span);
      endOfLast = first + place;
    }
    place += 1;
  }
  if (counts.length === 0) return;
  const deltas = out.begin(HISTOGRAM.delta);
  let before = 0;
  for (const count of counts) {
    if (count === 0) continue;
    out.varint(zigzag(count - before));
    before = count;
  }
  out.end(deltas);
}

/** How a field is written on the wire is in the lower bits of its tag. */
const varint = (field: number): number => field * 8;
const double = (field: number): number => field * 8 + 1;
const delimited = (field: number): number => field * 8 + 2;

/** The tags of the fields, by their numbers in metrics.proto of Prometheus's client_model. No number is above 15. */
const FAMILY = { name: delimited(1), help: delimited(2), type: varint(3), metric: delimited(4) };
const METRIC = {
  label: delimited(1),
  gauge: delimited(2),
  counter: delimited(3),
  summary: delimited(4),
  histogram: delimited(7),
};
const LABEL = { name: delimited(1), value: delimited(2) };
const NUMBER = { value: double(1), exemplar: delimited(2), startedAt: delimited(3) };
const SUMMARY = { count: varint(1), sum: double(2), startedAt: delimited(4) };
const HISTOGRAM = {
  count: varint(1),
  sum: double(2),
  bucket: delimited(3),
  schema: varint(5),
  zeroThreshold: double(6),
  zeroCount: varint(7),
  span: delimited(12),
  delta: delimited(13),
  startedAt: delimited(15),
};
const BUCKET = { count: varint(1), upperBound: double(2), exemplar: delimited(3) };
const SPAN = { offset: varint(1), length: varint(2) };
const EXEMPLAR = { label: delimited(1), value: double(2), at: delimited(3) };
const TIMESTAMP = { seconds: varint(1), nanos: varint(2) };
const TYPES: Readonly<Record<MetricType, number>> = { counter: 0, gauge: 1, summary: 2, histogram: 4 };

function writeLabels(out: Bytes, tag: number, labels: Labels): void {
  for (const name in labels) {
    const at = out.begin(tag);
    out.string(LABEL.name, name);
    out.string(LABEL.value, labels[name] ?? "");
    out.end(at);
  }
}

/** In whole seconds: what is counted began then or later. */
function writeStart(out: Bytes, tag: number, atMs: number | undefined): void {
  if (atMs !== undefined) writeTimestamp(out, tag, Math.floor(atMs / 1000), 0);
}

function writeTimestamp(out: Bytes, tag: number, seconds: number, ms: number): void {
  const at = out.begin(tag);
  out.whole(TIMESTAMP.seconds, seconds);
  out.whole(TIMESTAMP.nanos, Math.floor(ms * 1e6));
  out.end(at);
}

function writeExemplar(out: Bytes, tag: number, { labels, value, atMs }: Exemplar): void {
  const at = out.begin(tag);
  writeLabels(out, EXEMPLAR.label, labels);
  out.number(EXEMPLAR.value, value);
  const seconds = Math.floor(atMs / 1000);
  writeTimestamp(out, EXEMPLAR.at, seconds, atMs - seconds * 1000);
  out.end(at);
}

/** Small numbers of either sign become small ones without a sign. */
function zigzag(value: number): number {
  return value < 0 ? -2 * value - 1 : 2 * value;
}
