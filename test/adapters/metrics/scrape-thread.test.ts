import { readdirSync } from "node:fs";
import { constants, gunzipSync, inflateRawSync } from "node:zlib";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test, vi } from "vitest";
import { createMetrics, type Metrics, type ScrapedText } from "../../../src/adapters/metrics/metrics.ts";
import type { ScrapeRequest } from "../../../src/adapters/metrics/scrape-thread.ts";
import { ownedPieces, processText } from "../../../src/core/metrics/exposition.ts";
import type { MetricsSnapshot } from "../../../src/core/metrics/snapshot.ts";
import {
  accountsOf,
  sampleMetricsSnapshot,
  samplePoll,
  sampleUpstream,
  sampleUpstreamSnapshot,
  sampleValue,
  sampleValueSnapshot,
} from "../../support/samples.ts";
import { eventually } from "../../support/eventually.ts";

/** More than are written on the thread that polls: several parts. */
const MANY = 350;

function manyUpstreams(count = MANY): MetricsSnapshot {
  return sampleMetricsSnapshot({
    upstreams: Array.from({ length: count }, (_, index) =>
      sampleUpstreamSnapshot({
        upstream: sampleUpstream({ name: `upstream-${index} 🐢`, values: [sampleValue()] }),
        values: [sampleValueSnapshot({ value: index })],
        accounts: accountsOf(samplePoll({ durationMs: index })),
      }),
    ),
  });
}

function metricsOf(snapshot: () => MetricsSnapshot, onBug: (error: unknown) => void = fail): Metrics {
  const metrics = createMetrics(snapshot, onBug);
  onTestFinished(() => metrics[Symbol.asyncDispose]());
  return metrics;
}

function fail(error: unknown): void {
  throw error;
}

function threads(): number {
  return readdirSync("/proc/self/task").length;
}

function streamOf(text: ScrapedText): ReadableStream<Uint8Array> {
  if (!("gzipped" in text)) throw new Error("few upstreams are not written in the thread");
  return ReadableStream.from(text.gzipped);
}

async function textOf(text: ScrapedText): Promise<string> {
  if (!("gzipped" in text)) return (await Array.fromAsync(text.pieces)).join("");
  return gunzipSync(Buffer.concat(await Array.fromAsync(text.gzipped))).toString("utf8");
}

/** Without what the library tells of the process, which is never twice the same. */
function ours(snapshot: MetricsSnapshot): string {
  return [...ownedPieces({ ...snapshot, vantage: undefined })].join("") + processText(snapshot);
}

test("many are told as few are, and the process last", async () => {
  const snapshot = manyUpstreams();
  const text = await textOf(metricsOf(() => snapshot).render());
  expect(text.startsWith(ours(snapshot))).toBe(true);
  expect(text.slice(ours(snapshot).length)).toMatch(/^# HELP process_/);
  expect(text).toMatch(/nodejs_version_info\{.*\} 1\n/);
});

test("each part can be read by itself", async () => {
  const snapshot = manyUpstreams();
  const parts = await Array.fromAsync(streamOf(metricsOf(() => snapshot).render()));
  expect(parts.length).toBeGreaterThan(5);
  const deflated = parts.map((part, index) => (index === 0 ? part.subarray(10) : part));
  const texts = deflated.map((part) => inflateRawSync(part, { finishFlush: constants.Z_SYNC_FLUSH }));
  expect(Buffer.concat(texts).toString().startsWith(ours(snapshot))).toBe(true);
});

test("a text is of the moment at which it was asked for, and the next one of its own", async () => {
  const snapshot = manyUpstreams();
  const metrics = metricsOf(() => snapshot);
  const before = ours(snapshot);
  const scraped = metrics.render();
  for (const { accounts } of snapshot.upstreams)
    accounts.record({ kind: "slots_skipped", cause: "overlap", count: 1, hadWaited: false });
  expect((await textOf(scraped)).startsWith(before)).toBe(true);
  expect((await textOf(metrics.render())).startsWith(ours(snapshot))).toBe(true);
  expect(ours(snapshot)).not.toBe(before);
});

test("several read theirs at the same time, each at its own pace, and whoever goes away stops nobody", async () => {
  const snapshots = [manyUpstreams(301), manyUpstreams(500), manyUpstreams(350)];
  let asked = 0;
  const metrics = metricsOf(() => snapshots[asked++ % snapshots.length] ?? manyUpstreams());
  const scraped = Array.from({ length: 9 }, () => metrics.render());
  const leaving = streamOf(metrics.render()).getReader();
  await leaving.read();
  await leaving.cancel();
  const wanted = snapshots.map(ours);
  const texts = await Promise.all(scraped.map(textOf));
  expect(texts.map((text, index) => text.startsWith(wanted[index % wanted.length] ?? "none"))).toEqual(
    texts.map(() => true),
  );
});

/** How many parts were asked of threads so far: a thread makes none that was not asked of it. */
function partsAskedFor(): () => number {
  const sent = vi.spyOn(Worker.prototype, "postMessage");
  onTestFinished(() => sent.mockRestore());
  return () => sent.mock.calls.filter(([request]: ScrapeRequest[]) => request?.kind === "more").length;
}

test("no more of it is made than is read, but for the next part", async () => {
  const asked = partsAskedFor();
  const metrics = metricsOf(() => manyUpstreams());
  const reader = streamOf(metrics.render()).getReader();
  expect(asked()).toBe(0);
  const sizes: number[] = [];
  for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read()) {
    sizes.push(value?.length ?? 0);
    expect(asked()).toBeLessThanOrEqual(sizes.length + 1);
  }
  expect(asked()).toBe(sizes.length);
  expect(sizes[0]).toBeGreaterThan(1_000);
  expect(Math.max(...sizes)).toBeLessThan(30_000);
});

test("a thread that dies costs the scrapes that it was writing, is told of, and is there again", async () => {
  const labels = JSON.parse("null") as Record<string, string>;
  const broken = sampleMetricsSnapshot({
    upstreams: Array.from({ length: MANY }, () =>
      sampleUpstreamSnapshot({ upstream: sampleUpstream({ labels }) }),
    ),
  });
  const told: unknown[] = [];
  let snapshot = broken;
  const metrics = metricsOf(
    () => snapshot,
    (error) => told.push(error),
  );
  await expect(textOf(metrics.render())).rejects.toThrow(TypeError);
  expect(told).toHaveLength(1);
  snapshot = manyUpstreams();
  expect((await textOf(metrics.render())).startsWith(ours(snapshot))).toBe(true);
});

test("one that has ended writes nothing more", async () => {
  const metrics = createMetrics(manyUpstreams, () => {});
  const reader = streamOf(metrics.render()).getReader();
  await reader.read();
  await metrics[Symbol.asyncDispose]();
  await expect(
    Array.fromAsync({ [Symbol.asyncIterator]: () => ({ next: () => reader.read() }) }),
  ).rejects.toThrow("its thread ended");
});

test.skipIf(process.platform !== "linux")(
  "what nobody reads is not begun, and what is not needed any more ends",
  async () => {
    let snapshot = manyUpstreams();
    const metrics = metricsOf(() => snapshot);
    const threadsBefore = threads();
    metrics.render();
    expect(threads()).toBe(threadsBefore);
    await textOf(metrics.render());
    expect(threads()).toBeGreaterThan(threadsBefore);
    snapshot = manyUpstreams(1);
    await textOf(metrics.render());
    await eventually("the thread has ended", threads, (count) => count === threadsBefore);
  },
);
