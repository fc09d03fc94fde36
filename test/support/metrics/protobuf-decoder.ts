/** Reads what Prometheus reads, by the schema that it publishes and with a library of others. */

import protobuf from "protobufjs";
import { z } from "zod";
import type { Families } from "./exposition-parser.ts";

/** The fields of client_model's metrics.proto that a histogram of whole numbers can have, with their numbers. */
const SCHEMA = `
  syntax = "proto2";
  message Timestamp { optional int64 seconds = 1; optional int32 nanos = 2; }
  message LabelPair { optional string name = 1; optional string value = 2; }
  enum MetricType { COUNTER = 0; GAUGE = 1; SUMMARY = 2; UNTYPED = 3; HISTOGRAM = 4; GAUGE_HISTOGRAM = 5; }
  message Gauge { optional double value = 1; }
  message Counter { optional double value = 1; optional Exemplar exemplar = 2; optional Timestamp created_timestamp = 3; }
  message Quantile { optional double quantile = 1; optional double value = 2; }
  message Summary {
    optional uint64 sample_count = 1; optional double sample_sum = 2; repeated Quantile quantile = 3;
    optional Timestamp created_timestamp = 4;
  }
  message Untyped { optional double value = 1; }
  message Histogram {
    optional uint64 sample_count = 1; optional double sample_sum = 2; repeated Bucket bucket = 3;
    optional sint32 schema = 5; optional double zero_threshold = 6; optional uint64 zero_count = 7;
    repeated BucketSpan negative_span = 9; repeated sint64 negative_delta = 10;
    repeated BucketSpan positive_span = 12; repeated sint64 positive_delta = 13;
    optional Timestamp created_timestamp = 15; repeated Exemplar exemplars = 16;
  }
  message Bucket { optional uint64 cumulative_count = 1; optional double upper_bound = 2; optional Exemplar exemplar = 3; }
  message BucketSpan { optional sint32 offset = 1; optional uint32 length = 2; }
  message Exemplar { repeated LabelPair label = 1; optional double value = 2; optional Timestamp timestamp = 3; }
  message Metric {
    repeated LabelPair label = 1; optional Gauge gauge = 2; optional Counter counter = 3; optional Summary summary = 4;
    optional Untyped untyped = 5; optional int64 timestamp_ms = 6; optional Histogram histogram = 7;
  }
  message MetricFamily {
    optional string name = 1; optional string help = 2; optional MetricType type = 3; repeated Metric metric = 4;
    optional string unit = 5;
  }`;

const FAMILY = protobuf.parse(SCHEMA, { keepCase: true }).root.lookupType("MetricFamily");

export type DecodedExemplar = {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly atMs: number;
};

export type DecodedHistogram = {
  readonly count: number;
  readonly sum: number;
  /** Cumulative, by upper bound. */
  readonly buckets: readonly (readonly [bound: number, count: number])[];
  readonly schema: number;
  readonly zeroThreshold: number;
  readonly zeroCount: number;
  /** By index, those that count something. */
  readonly exponential: ReadonlyMap<number, number>;
};

export type DecodedMetric = {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number | { readonly count: number; readonly sum: number } | DecodedHistogram;
  readonly startedAtMs: number | undefined;
  readonly exemplars: readonly DecodedExemplar[];
};

export type DecodedFamily = {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly metrics: readonly DecodedMetric[];
};

const time = z
  .object({ seconds: z.int(), nanos: z.int().min(0).max(999_999_999) })
  .transform(({ seconds, nanos }) => seconds * 1000 + nanos / 1e6);
const labels = z
  .array(z.object({ name: z.string(), value: z.string() }))
  .transform((pairs) => Object.fromEntries(pairs.map(({ name, value }) => [name, value])));
const exemplar = z
  .object({ label: labels, value: z.number(), timestamp: time })
  .transform(({ label, value, timestamp }) => ({ labels: label, value, atMs: timestamp }));
const number = z.union([z.number(), z.literal([Infinity, -Infinity])]);
const bucket = z.object({ cumulative_count: z.int(), upper_bound: number, exemplar: exemplar.nullable() });

const counter = z
  .object({ value: number, exemplar: exemplar.nullable(), created_timestamp: time.nullable() })
  .transform(({ value, ...rest }) => ({
    value,
    startedAtMs: rest.created_timestamp ?? undefined,
    exemplars: rest.exemplar === null ? [] : [rest.exemplar],
  }));

const gauge = z
  .object({ value: number })
  .transform(({ value }) => ({ value, startedAtMs: undefined, exemplars: [] }));

const summary = z
  .object({ sample_count: z.int(), sample_sum: z.number(), created_timestamp: time.nullable() })
  .transform(({ sample_count: count, sample_sum: sum, ...rest }) => ({
    value: { count, sum },
    startedAtMs: rest.created_timestamp ?? undefined,
    exemplars: [],
  }));

const histogram = z
  .object({
    sample_count: z.int(),
    sample_sum: z.number(),
    bucket: z.array(bucket),
    schema: z.int().min(-4).max(8),
    zero_threshold: z.number().min(0),
    zero_count: z.int(),
    positive_span: z.array(z.object({ offset: z.int(), length: z.int().min(1) })),
    positive_delta: z.array(z.int()),
    created_timestamp: time.nullable(),
  })
  .transform(({ bucket: buckets, ...of }) => ({
    value: {
      count: of.sample_count,
      sum: of.sample_sum,
      buckets: buckets.map((each) => [each.upper_bound, each.cumulative_count] as const),
      schema: of.schema,
      zeroThreshold: of.zero_threshold,
      zeroCount: of.zero_count,
      exponential: exponentialOf(of.positive_span, of.positive_delta),
    },
    startedAtMs: of.created_timestamp ?? undefined,
    exemplars: buckets.flatMap((each) => (each.exemplar === null ? [] : [each.exemplar])),
  }));

const none = z.null();
const nothing = { label: labels, gauge: none, counter: none, summary: none, untyped: none, histogram: none };
const described = { name: z.string(), help: z.string() };
const family = z.discriminatedUnion("type", [
  z.object({
    ...described,
    type: z.literal("GAUGE"),
    metric: z.array(
      z.object({ ...nothing, gauge }).transform(({ label, gauge: of }) => ({ labels: label, ...of })),
    ),
  }),
  z.object({
    ...described,
    type: z.literal("COUNTER"),
    metric: z.array(
      z.object({ ...nothing, counter }).transform(({ label, counter: of }) => ({ labels: label, ...of })),
    ),
  }),
  z.object({
    ...described,
    type: z.literal("SUMMARY"),
    metric: z.array(
      z.object({ ...nothing, summary }).transform(({ label, summary: of }) => ({ labels: label, ...of })),
    ),
  }),
  z.object({
    ...described,
    type: z.literal("HISTOGRAM"),
    metric: z.array(
      z.object({ ...nothing, histogram }).transform(({ label, histogram: of }) => ({ labels: label, ...of })),
    ),
  }),
]);

/** Fails on anything that Prometheus might stumble over. */
export function decodeFamilies(bytes: Uint8Array): ReadonlyMap<string, DecodedFamily> {
  const reader = protobuf.Reader.create(bytes);
  const families = new Map<string, DecodedFamily>();
  while (reader.pos < reader.len) {
    const message = FAMILY.decodeDelimited(reader);
    const plain = FAMILY.toObject(message, { longs: Number, enums: String, defaults: true });
    const { name, help, type, metric: metrics } = family.parse(plain);
    if (families.has(name)) throw new Error(`${name} is there twice`);
    const identities = metrics.map((metric) =>
      JSON.stringify(Object.entries(metric.labels).toSorted(([one], [other]) => one.localeCompare(other))),
    );
    if (new Set(identities).size !== identities.length) throw new Error(`${name} has a series twice`);
    families.set(name, { name, help, type: type.toLowerCase(), metrics });
  }
  return families;
}

/** Those that are one number each, as if they were read from text. */
export function numbersIn(families: ReadonlyMap<string, DecodedFamily>): Families {
  return new Map(
    [...families].map(([name, { type, help, metrics }]) => {
      const samples = metrics.flatMap(({ labels: of, value }) =>
        typeof value === "number" ? [{ name, labels: of, value }] : [],
      );
      return [name, { name, type, help, samples }] as const;
    }),
  );
}

type Span = { readonly offset: number; readonly length: number };

function exponentialOf(spans: readonly Span[], deltas: readonly number[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  let index = 0;
  let place = 0;
  let count = 0;
  for (const { offset, length } of spans) {
    index += offset;
    for (let left = length; left > 0; left -= 1) {
      count += deltas[place] ?? Number.NaN;
      counts.set(index, count);
      index += 1;
      place += 1;
    }
  }
  if (place !== deltas.length) throw new Error(`${place} buckets have ${deltas.length} counts`);
  return counts;
}
