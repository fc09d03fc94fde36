import * as fc from "fast-check";
import { expect, test } from "vitest";
import { UpstreamAccounts } from "../../src/kernel/metrics/accounts.ts";
import { CATALOGUE } from "../../tools/docs-metrics.ts";
import { Histogram } from "../../src/kernel/metrics/histogram.ts";
import { Bytes } from "../../src/exposition/bytes.ts";
import { ProtobufFormat } from "../../src/exposition/protobuf.ts";
import type { Description, Sample } from "../../src/kernel/metrics/family.ts";
import { outcomeOf } from "../../src/kernel/exchange/outcome.ts";
import { parseExposition, sampleValue } from "../support/metrics/exposition-parser.ts";
import {
  type DecodedFamily,
  type DecodedHistogram,
  type DecodedMetric,
  decodeFamilies,
} from "../support/metrics/protobuf-decoder.ts";
import { renderProtobuf, renderText } from "../support/metrics/render.ts";
import {
  POLL_ENDED_AT_MS,
  PROCESS_STARTED_AT_MS,
  recordPoll,
  samplePoll,
} from "../support/kernel-samples.ts";
import {
  accountsOf,
  fullMetricsSnapshot,
  sampleMetricsSnapshot,
  sampleUpstreamSnapshot,
} from "../support/samples.ts";

function written(description: Description, samples: readonly Sample[]): DecodedFamily | undefined {
  const format = new ProtobufFormat();
  const [common, out] = [new Bytes(), new Bytes()];
  format.labels(common, { upstream: "email" });
  for (const sample of samples) format.sample(out, description, common, sample);
  const bytes = Buffer.concat([format.head(description, out.length), out.written]);
  return decodeFamilies(bytes).get(description.name);
}

function histogramOf(family: DecodedFamily | undefined): DecodedHistogram {
  const value = family?.metrics[0]?.value;
  if (value === undefined || typeof value === "number" || !("buckets" in value)) throw new Error("none");
  return value;
}

test("a decoder of others reads every metric of the catalogue, with its type, help and labels", () => {
  const families = renderProtobuf(fullMetricsSnapshot());
  expect([...families.keys()].toSorted()).toEqual(CATALOGUE.map(({ name }) => name).toSorted());
  for (const { name, type, help, labels } of CATALOGUE) {
    expect(families.get(name)).toMatchObject({ type, help });
    for (const metric of families.get(name)?.metrics ?? []) {
      const shown = Object.keys(metric.labels).filter((label) => label !== "team");
      expect(shown, `labels of ${name}`).toEqual(labels);
    }
  }
});

/** As the text has them. */
function numbersOf(
  name: string,
  { labels, value }: DecodedMetric,
): readonly (readonly [string, object, number])[] {
  if (typeof value === "number") return [[name, labels, value]];
  const buckets = "buckets" in value ? value.buckets : [];
  return [
    ...buckets.map(([bound, count]) => {
      const finite = Number.isInteger(bound) ? `${bound}.0` : `${bound}`;
      return [`${name}_bucket`, { ...labels, le: bound === Infinity ? "+Inf" : finite }, count] as const;
    }),
    [`${name}_sum`, labels, value.sum],
    [`${name}_count`, labels, value.count],
  ];
}

test("what it reads is what the text says", () => {
  const snapshot = fullMetricsSnapshot();
  const text = parseExposition(renderText(snapshot));
  const read = [...renderProtobuf(snapshot).values()].flatMap(({ name, metrics }) =>
    metrics.flatMap((metric) => numbersOf(name, metric)),
  );
  expect(read.length).toBeGreaterThan(100);
  for (const [name, labels, value] of read)
    expect(sampleValue(text, name, { ...labels }), `value of ${name}`).toBe(value);
});

test("whatever the names, labels and numbers are, they arrive", () => {
  const sample = fc.record({
    labels: fc.dictionary(fc.string({ minLength: 1 }), fc.string({ unit: "grapheme", maxLength: 200 })),
    value: fc.double({ noNaN: true }),
    startedAtMs: fc.option(
      fc.nat(4e9).map((seconds) => seconds * 1000),
      { nil: undefined },
    ),
  });
  const description = fc.record({
    name: fc.string({ minLength: 1 }),
    help: fc.string({ unit: "grapheme", maxLength: 20_000 }),
    type: fc.constantFrom("counter" as const, "gauge" as const),
  });
  fc.assert(
    fc.property(description, fc.array(sample, { minLength: 1, maxLength: 20 }), (of, samples) => {
      const distinct = samples.map((each, index) => ({
        ...each,
        labels: { ...each.labels, index: `${index}` },
      }));
      const family = written(of, distinct);
      expect({ ...family, metrics: [] }).toEqual({ ...of, metrics: [] });
      expect(
        family?.metrics.map(({ labels, value, startedAtMs }) => ({ labels, value, startedAtMs })),
      ).toEqual(
        distinct.map(({ labels, value, startedAtMs }) => ({
          labels: { upstream: "email", ...labels },
          // It has no sign where it is 0.
          value: value === 0 ? 0 : value,
          startedAtMs: of.type === "counter" ? startedAtMs : undefined,
        })),
      );
    }),
  );
});

test("exponential buckets are written as spans of those that count something", () => {
  const values = fc.array(fc.double({ min: 0, max: 70, noNaN: true }), { maxLength: 100 });
  fc.assert(
    fc.property(values, (all) => {
      const value = new Histogram([1], 5_000);
      for (const each of all) value.observe(each);
      const family = written({ name: "x", help: "", type: "histogram" }, [
        { labels: {}, value, startedAtMs: 5_000 },
      ]);
      const shown = histogramOf(family);
      const { first, counts, zeroCount } = value.exponential;
      expect(shown).toMatchObject({ schema: 3, zeroCount, zeroThreshold: 2 ** -14, count: all.length });
      expect([...shown.exponential]).toEqual(
        counts.flatMap((count, place) => (count === 0 ? [] : [[first + place, count]])),
      );
      const inBuckets = [...shown.exponential.values()].reduce((sum, count) => sum + count, 0);
      expect(inBuckets + shown.zeroCount).toBe(shown.count);
      expect(family?.metrics[0]?.startedAtMs).toBe(5_000);
    }),
  );
});

function metricOf(accounts: UpstreamAccounts, name: string, outcome: string): DecodedMetric | undefined {
  const snapshot = sampleMetricsSnapshot({ upstreams: [sampleUpstreamSnapshot({ accounts })] });
  const metrics = renderProtobuf(snapshot).get(name)?.metrics;
  return metrics?.find(({ labels }) => labels["outcome"] === outcome);
}

test("counters and histograms say since when they count; what appears late, since it did not exist", () => {
  const accounts = accountsOf(samplePoll({ outcome: outcomeOf("server_error") }));
  const startOf = (name: string, outcome: string): number | undefined =>
    metricOf(accounts, `pacewatch_${name}`, outcome)?.startedAtMs;
  // In whole seconds.
  const sentAtMs = Math.floor((POLL_ENDED_AT_MS - 200) / 1000) * 1000;
  expect(startOf("polls_total", "ok")).toBe(PROCESS_STARTED_AT_MS);
  expect(startOf("polls_total", "failed")).toBe(PROCESS_STARTED_AT_MS);
  expect(startOf("poll_duration_seconds", "ok")).toBe(PROCESS_STARTED_AT_MS);
  expect(startOf("poll_duration_seconds", "failed")).toBe(sentAtMs);
  expect(startOf("poll_reasons_total", "failed")).toBe(sentAtMs);
});

test("a poll's exemplar stands beside its outcome, and in the bucket that counts it", () => {
  const head = { status: 500, headers: [{ name: "x-request-id", bytes: 8, value: "req_7f3a" }] };
  const accounts = accountsOf(samplePoll({ id: "a-1", durationMs: 300 }));
  recordPoll(
    accounts,
    samplePoll({ id: "a-2", outcome: outcomeOf("server_error"), head, durationMs: 70_000 }),
  );
  const exemplar = { value: 0.3, atMs: POLL_ENDED_AT_MS, labels: { poll_id: "a-1", poll_page: "email#a-1" } };
  for (const name of ["pacewatch_polls_total", "pacewatch_poll_duration_seconds"]) {
    expect(metricOf(accounts, name, "ok")?.exemplars).toEqual([exemplar]);
    expect(metricOf(accounts, name, "failed")?.exemplars).toEqual([
      {
        value: 70,
        atMs: POLL_ENDED_AT_MS,
        labels: { poll_id: "a-2", poll_page: "email#a-2", request_id: "req_7f3a" },
      },
    ]);
    expect(metricOf(accounts, name, "throttled")?.exemplars ?? []).toEqual([]);
  }
});
