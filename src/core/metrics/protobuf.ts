import { Bytes } from "./bytes.ts";
import {
  bucketsOf,
  type Description,
  type Distribution,
  type Exemplar,
  type Exponential,
  type FamilyWriter,
  type Format,
  type Labels,
  type MetricType,
  NO_LABELS,
  type Sample,
  type Summary,
} from "./sample.ts";

/** `io.prometheus.client.MetricFamily` messages, each with its length before it. */
export class ProtobufFormat implements Format {
  readonly end: Uint8Array = new Uint8Array(0);

  labels(labels: Labels): Uint8Array {
    const out = new Message();
    out.labels(METRIC.label, labels);
    return out.written;
  }

  family(description: Description): FamilyWriter {
    return new ProtobufFamily(description);
  }
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

/** A field that is 0 is left out: who reads it takes it for 0. */
class Message extends Bytes {
  /** No field has a number above 15, so a tag is one byte. */
  tag(field: number, wire: number): void {
    this.byte(field * 8 + wire);
  }

  whole(field: number, value: number): void {
    if (value === 0) return;
    this.tag(field, VARINT);
    this.varint(value);
  }

  number(field: number, value: number): void {
    if (value === 0) return;
    this.tag(field, DOUBLE);
    this.double(value);
  }

  string(field: number, text: string): void {
    const at = this.begin(field);
    this.text(text);
    this.finish(at);
  }

  /** Until `finish`, all that is written is in this field. */
  begin(field: number): number {
    this.tag(field, DELIMITED);
    return this.reserve();
  }

  labels(field: number, labels: Labels): void {
    for (const name in labels) {
      const at = this.begin(field);
      this.string(LABEL.name, name);
      this.string(LABEL.value, labels[name] ?? "");
      this.finish(at);
    }
  }

  /** In whole seconds: what is counted began then or later. */
  startedAt(field: number, atMs: number | undefined): void {
    if (atMs !== undefined) this.timestamp(field, Math.floor(atMs / 1000) * 1000);
  }

  timestamp(field: number, atMs: number): void {
    const at = this.begin(field);
    this.whole(TIMESTAMP.seconds, Math.floor(atMs / 1000));
    this.whole(TIMESTAMP.nanos, Math.floor((atMs % 1000) * 1e6));
    this.finish(at);
  }

  exemplar(field: number, { labels, value, atMs }: Exemplar): void {
    const at = this.begin(field);
    this.labels(EXEMPLAR.label, labels);
    this.number(EXEMPLAR.value, value);
    this.timestamp(EXEMPLAR.at, atMs);
    this.finish(at);
  }
}

class ProtobufFamily implements FamilyWriter {
  readonly #description: Description;
  readonly #metrics = new Message();

  constructor(description: Description) {
    this.#description = description;
  }

  add(common: Uint8Array, sample: Sample): void {
    const out = this.#metrics;
    const metric = out.begin(FAMILY.metric);
    out.copy(common);
    if (sample.labels !== NO_LABELS) out.labels(METRIC.label, sample.labels);
    const { value } = sample;
    if (typeof value === "number") this.#number(value, sample);
    else if ("bounds" in value) this.#histogram(value, sample);
    else this.#summary(value, sample);
    out.finish(metric);
  }

  written(): Uint8Array {
    const metrics = this.#metrics.written;
    if (metrics.length === 0) return metrics;
    const { name, help, type } = this.#description;
    const out = new Message();
    const at = out.reserve();
    out.string(FAMILY.name, name);
    out.string(FAMILY.help, help);
    out.whole(FAMILY.type, TYPES[type]);
    out.copy(metrics);
    out.finish(at);
    return out.written;
  }

  #number(value: number, { exemplar, startedAtMs }: Sample): void {
    const out = this.#metrics;
    const isCounter = this.#description.type === "counter";
    const at = out.begin(isCounter ? METRIC.counter : METRIC.gauge);
    out.number(NUMBER.value, value);
    if (isCounter && exemplar !== undefined) out.exemplar(NUMBER.exemplar, exemplar);
    if (isCounter) out.startedAt(NUMBER.startedAt, startedAtMs);
    out.finish(at);
  }

  #summary({ count, sum }: Summary, { startedAtMs }: Sample): void {
    const out = this.#metrics;
    const at = out.begin(METRIC.summary);
    out.whole(SUMMARY.count, count);
    out.number(SUMMARY.sum, sum);
    out.startedAt(SUMMARY.startedAt, startedAtMs);
    out.finish(at);
  }

  #histogram(value: Distribution, { startedAtMs, exemplar }: Sample): void {
    const out = this.#metrics;
    const at = out.begin(METRIC.histogram);
    out.whole(HISTOGRAM.count, value.count);
    out.number(HISTOGRAM.sum, value.sum);
    // In them, every version of Prometheus looks for exemplars.
    for (const { bound, count, exemplar: one } of bucketsOf(value, exemplar)) {
      if (bound === Infinity && one === undefined) break;
      const bucket = out.begin(HISTOGRAM.bucket);
      out.whole(BUCKET.count, count);
      out.number(BUCKET.upperBound, bound);
      if (one !== undefined) out.exemplar(BUCKET.exemplar, one);
      out.finish(bucket);
    }
    if (value.exponential !== undefined) this.#exponential(value.exponential);
    out.startedAt(HISTOGRAM.startedAt, startedAtMs);
    out.finish(at);
  }

  /** Only buckets that count something are written, each as the difference to the one before. */
  #exponential({ schema, zeroThreshold, zeroCount, first, counts }: Exponential): void {
    const out = this.#metrics;
    out.whole(HISTOGRAM.schema, zigzag(schema));
    out.number(HISTOGRAM.zeroThreshold, zeroThreshold);
    out.whole(HISTOGRAM.zeroCount, zeroCount);
    let endOfLast = 0;
    for (let place = 0; place < counts.length;) {
      const from = place;
      while ((counts[place] ?? 0) > 0) place += 1;
      if (place > from) {
        const span = out.begin(HISTOGRAM.span);
        out.whole(SPAN.offset, zigzag(first + from - endOfLast));
        out.whole(SPAN.length, place - from);
        out.finish(span);
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
    out.finish(deltas);
  }
}

/** Small numbers of either sign become small ones without a sign. */
function zigzag(value: number): number {
  return value < 0 ? -2 * value - 1 : 2 * value;
}
