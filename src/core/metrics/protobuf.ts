import { Bytes } from "./bytes.ts";
import {
  type Description,
  type Distribution,
  eachBucket,
  type Exemplar,
  type Exponential,
  type Format,
  type Labels,
  type MetricType,
  type Sample,
} from "./sample.ts";

/** `io.prometheus.client.MetricFamily` messages, each with its length before it. */
export class ProtobufFormat implements Format {
  readonly end: Uint8Array = new Uint8Array(0);

  labels(out: Bytes, labels: Labels): void {
    writeLabels(out, METRIC.label, labels);
  }

  sample(out: Bytes, { type }: Description, common: Uint8Array, sample: Sample): void {
    const metric = begin(out, FAMILY.metric);
    out.copy(common);
    writeLabels(out, METRIC.label, sample.labels);
    const { value, startedAtMs, exemplar } = sample;
    if (typeof value === "number" && type === "counter") {
      const at = begin(out, METRIC.counter);
      number(out, NUMBER.value, value);
      if (exemplar !== undefined) writeExemplar(out, NUMBER.exemplar, exemplar);
      startedAt(out, NUMBER.startedAt, startedAtMs);
      out.finish(at);
    } else if (typeof value === "number") {
      const at = begin(out, METRIC.gauge);
      number(out, NUMBER.value, value);
      out.finish(at);
    } else if ("bounds" in value) {
      writeHistogram(out, value, sample);
    } else {
      const at = begin(out, METRIC.summary);
      whole(out, SUMMARY.count, value.count);
      number(out, SUMMARY.sum, value.sum);
      startedAt(out, SUMMARY.startedAt, startedAtMs);
      out.finish(at);
    }
    out.finish(metric);
  }

  head({ name, help, type }: Description, samplesBytes: number): Uint8Array {
    const fields = new Bytes();
    string(fields, FAMILY.name, name);
    string(fields, FAMILY.help, help);
    whole(fields, FAMILY.type, TYPES[type]);
    const out = new Bytes();
    out.varint(fields.length + samplesBytes);
    out.copy(fields.written);
    return out.written;
  }
}

function writeHistogram(out: Bytes, value: Distribution, { startedAtMs, exemplar }: Sample): void {
  const at = begin(out, METRIC.histogram);
  whole(out, HISTOGRAM.count, value.count);
  number(out, HISTOGRAM.sum, value.sum);
  // In them, every version of Prometheus looks for exemplars.
  eachBucket(value, exemplar, (bound, count, one) => {
    if (bound === Infinity && one === undefined) return;
    const bucket = begin(out, HISTOGRAM.bucket);
    whole(out, BUCKET.count, count);
    number(out, BUCKET.upperBound, bound);
    if (one !== undefined) writeExemplar(out, BUCKET.exemplar, one);
    out.finish(bucket);
  });
  if (value.exponential !== undefined) writeExponential(out, value.exponential);
  startedAt(out, HISTOGRAM.startedAt, startedAtMs);
  out.finish(at);
}

/** Only buckets that count something are written, each as the difference to the one before. */
function writeExponential(
  out: Bytes,
  { schema, zeroThreshold, zeroCount, first, counts }: Exponential,
): void {
  whole(out, HISTOGRAM.schema, zigzag(schema));
  number(out, HISTOGRAM.zeroThreshold, zeroThreshold);
  whole(out, HISTOGRAM.zeroCount, zeroCount);
  let endOfLast = 0;
  for (let place = 0; place < counts.length;) {
    const from = place;
    while ((counts[place] ?? 0) > 0) place += 1;
    if (place > from) {
      const span = begin(out, HISTOGRAM.span);
      whole(out, SPAN.offset, zigzag(first + from - endOfLast));
      whole(out, SPAN.length, place - from);
      out.finish(span);
      endOfLast = first + place;
    }
    place += 1;
  }
  if (counts.length === 0) return;
  const deltas = begin(out, HISTOGRAM.delta);
  let before = 0;
  for (const count of counts) {
    if (count === 0) continue;
    out.varint(zigzag(count - before));
    before = count;
  }
  out.finish(deltas);
}

/** The numbers of the fields, as metrics.proto of Prometheus's client_model has them. */
const FAMILY = { name: 1, help: 2, type: 3, metric: 4 };
const METRIC = { label: 1, gauge: 2, counter: 3, summary: 4, untyped: 5, histogram: 7 };
const LABEL = { name: 1, value: 2 };
const NUMBER = { value: 1, exemplar: 2, startedAt: 3 };
const SUMMARY = { count: 1, sum: 2, startedAt: 4 };
const HISTOGRAM = {
  count: 1,
  sum: 2,
  bucket: 3,
  schema: 5,
  zeroThreshold: 6,
  zeroCount: 7,
  span: 12,
  delta: 13,
  startedAt: 15,
};
const BUCKET = { count: 1, upperBound: 2, exemplar: 3 };
const SPAN = { offset: 1, length: 2 };
const EXEMPLAR = { label: 1, value: 2, at: 3 };
const TIMESTAMP = { seconds: 1, nanos: 2 };
const TYPES: Readonly<Record<MetricType, number>> = { counter: 0, gauge: 1, summary: 2, histogram: 4 };

/** How a field is written on the wire: the lower bits of its tag. */
const VARINT = 0;
const DOUBLE = 1;
const DELIMITED = 2;

/** No field has a number above 15, so a tag is one byte. */
function tag(out: Bytes, field: number, wire: number): void {
  out.byte(field * 8 + wire);
}

/** A field that is 0 is left out: who reads it takes it for 0. */
function whole(out: Bytes, field: number, value: number): void {
  if (value === 0) return;
  tag(out, field, VARINT);
  out.varint(value);
}

function number(out: Bytes, field: number, value: number): void {
  if (value === 0) return;
  tag(out, field, DOUBLE);
  out.double(value);
}

function string(out: Bytes, field: number, text: string): void {
  const at = begin(out, field);
  out.text(text);
  out.finish(at);
}

/** Until `finish`, all that is written is in this field. */
function begin(out: Bytes, field: number): number {
  tag(out, field, DELIMITED);
  return out.reserve();
}

function writeLabels(out: Bytes, field: number, labels: Labels): void {
  for (const name in labels) {
    const at = begin(out, field);
    string(out, LABEL.name, name);
    string(out, LABEL.value, labels[name] ?? "");
    out.finish(at);
  }
}

/** In whole seconds: what is counted began then or later. */
function startedAt(out: Bytes, field: number, atMs: number | undefined): void {
  if (atMs !== undefined) timestamp(out, field, Math.floor(atMs / 1000) * 1000);
}

function timestamp(out: Bytes, field: number, atMs: number): void {
  const at = begin(out, field);
  whole(out, TIMESTAMP.seconds, Math.floor(atMs / 1000));
  whole(out, TIMESTAMP.nanos, Math.floor((atMs % 1000) * 1e6));
  out.finish(at);
}

function writeExemplar(out: Bytes, field: number, { labels, value, atMs }: Exemplar): void {
  const at = begin(out, field);
  writeLabels(out, EXEMPLAR.label, labels);
  number(out, EXEMPLAR.value, value);
  timestamp(out, EXEMPLAR.at, atMs);
  out.finish(at);
}

/** Small numbers of either sign become small ones without a sign. */
function zigzag(value: number): number {
  return value < 0 ? -2 * value - 1 : 2 * value;
}
