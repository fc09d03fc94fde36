import { expect, test } from "vitest";
import { OK, outcomeOf, type PollOutcome } from "../../../src/kernel/exchange/outcome.ts";
import type { Outcome } from "../../../src/kernel/exchange/reasons.ts";
import { type CountedPoll, RollingCounts } from "../../../src/features/history/rolling-counts.ts";
import { columnsOfBuckets } from "../../../src/features/history/timeline.ts";

import { packedBuckets, sampleBucket } from "../../support/samples.ts";

const MINUTE_MS = 60_000;

const OUTCOMES: Readonly<Record<Outcome, PollOutcome>> = {
  ok: OK,
  failed: outcomeOf("server_error"),
  throttled: outcomeOf("rate"),
  rejected: outcomeOf("unauthorized"),
  ours: outcomeOf("bug"),
};

function polled(endedAtMs: number, outcome: Outcome, durationMs: number): CountedPoll {
  return { endedAtMs, outcome: OUTCOMES[outcome], durationMs, withinObjective: durationMs <= 100 };
}

test("a bucket counts until all of it is older than the window", () => {
  const counts = new RollingCounts(MINUTE_MS, 60);
  counts.add(polled(0, "ok", 100), 15_000);
  counts.add(polled(MINUTE_MS, "failed", 100), 15_000);
  expect(counts.within(3 * MINUTE_MS, 3 * MINUTE_MS)).toEqual({
    ok: 1,
    withinObjective: 1,
    watchedMs: 30_000,
    failedMs: 15_000,
  });
  expect(counts.within(3 * MINUTE_MS, 4 * MINUTE_MS)).toEqual({
    ok: 0,
    withinObjective: 0,
    watchedMs: 15_000,
    failedMs: 15_000,
  });
  expect(counts.within(3 * MINUTE_MS, 5 * MINUTE_MS)).toEqual({
    ok: 0,
    withinObjective: 0,
    watchedMs: 0,
    failedMs: 0,
  });
});

test("its memory is the length of its window, however long it runs", () => {
  const counts = new RollingCounts(MINUTE_MS, 60);
  for (let minute = 0; minute < 1_000; minute += 1) counts.add(polled(minute * MINUTE_MS, "ok", 100), 15_000);
  expect(counts.within(1_000 * MINUTE_MS, 999 * MINUTE_MS)).toEqual({
    ok: 61,
    withinObjective: 61,
    watchedMs: 61 * 15_000,
    failedMs: 0,
  });
});

test.each([10, 2_000])(
  "a wall clock that was ahead by %i minutes for a moment takes nothing away",
  (ahead) => {
    const counts = new RollingCounts(MINUTE_MS, 60);
    const least = { ok: Infinity, soon: 0 };
    for (let minute = 0; minute < 200; minute += 1) {
      counts.add(polled(minute * MINUTE_MS, "ok", 100), 15_000);
      if (minute === 100) counts.add(polled((minute + ahead) * MINUTE_MS, "failed", 100), 15_000);
      const { ok, failedMs } = counts.within(59 * MINUTE_MS, minute * MINUTE_MS);
      if (minute >= 60) least.ok = Math.min(least.ok, ok);
      if (minute < 110) least.soon += failedMs;
    }
    expect(least).toEqual({ ok: 60, soon: 0 });
  },
);

test("a wall clock that was behind for a moment takes nothing from the window", () => {
  const counts = new RollingCounts(MINUTE_MS, 60);
  for (let minute = 1_000; minute < 1_100; minute += 1)
    counts.add(polled(minute * MINUTE_MS, "ok", 100), 15_000);
  counts.add(polled(2 * MINUTE_MS, "failed", 100), 15_000);
  expect(counts.within(59 * MINUTE_MS, 1_099 * MINUTE_MS)).toEqual({
    ok: 60,
    withinObjective: 60,
    watchedMs: 60 * 15_000,
    failedMs: 0,
  });
});

test("it goes on where a former life ended, in the same bucket too", () => {
  const counts = new RollingCounts(
    MINUTE_MS,
    60,
    packedBuckets([
      sampleBucket({ index: 1, ok: 5, withinObjective: 4, watchedMs: 75_000 }),
      sampleBucket({ index: 3, ok: 2, failed: 1, withinObjective: 1, watchedMs: 45_000, failedMs: 15_000 }),
    ]),
  );
  counts.add(polled(3 * MINUTE_MS + 30_000, "failed", 100), 15_000);
  expect(counts.within(MINUTE_MS, 4 * MINUTE_MS)).toEqual({
    ok: 2,
    withinObjective: 1,
    watchedMs: 60_000,
    failedMs: 30_000,
  });
  expect(counts.within(3 * MINUTE_MS, 4 * MINUTE_MS)).toEqual({
    ok: 7,
    withinObjective: 5,
    watchedMs: 135_000,
    failedMs: 30_000,
  });
});

test("what was restored is bounded like what was counted, and grows old like it", () => {
  const restored = Array.from({ length: 200 }, (_, index) => sampleBucket({ index, ok: 1 }));
  const counts = new RollingCounts(MINUTE_MS, 60);
  for (const bucket of restored) counts.restore(bucket);
  expect(counts.within(200 * MINUTE_MS, 199 * MINUTE_MS).ok).toBe(61);
  counts.add(polled(1_000 * MINUTE_MS, "ok", 100), 15_000);
  expect(counts.within(60 * MINUTE_MS, 1_000 * MINUTE_MS).ok).toBe(1);
});

test("each outcome is counted by itself, and of the ok ones the mean and the longest are known", () => {
  const counts = new RollingCounts(MINUTE_MS, 60);
  counts.add(polled(0, "ok", 100), 15_000);
  counts.add(polled(10_000, "ok", 300), 15_000);
  counts.add(polled(20_000, "failed", 10_000), 15_000);
  counts.add(polled(30_000, "rejected", 40), 15_000);
  counts.add(polled(3 * MINUTE_MS, "throttled", 50), 15_000);
  counts.add(polled(3 * MINUTE_MS, "ours", 1), 15_000);
  expect(columnsOfBuckets(counts.bucketsFrom(0), 1)).toEqual([
    {
      index: 0,
      counts: { ok: 2, failed: 1, throttled: 0, rejected: 1, ours: 0 },
      watchedMs: 60_000,
      failedMs: 15_000,
      latency: { middleMs: 200, highMs: 300, longestMs: 300 },
    },
    {
      index: 3,
      counts: { ok: 0, failed: 0, throttled: 1, rejected: 0, ours: 1 },
      watchedMs: 30_000,
      failedMs: 0,
      latency: undefined,
    },
  ]);
  expect(counts.bucketsFrom(MINUTE_MS).map(({ index }) => index)).toEqual([3]);
});

test("what grows keeps every number, and what a former life knew of latencies goes on", () => {
  const counts = new RollingCounts(
    MINUTE_MS,
    60,
    packedBuckets([sampleBucket({ index: 0, ok: 3, okMs: 300, longestMs: 150 })]),
  );
  counts.add(polled(0, "ok", 500), 15_000);
  for (let minute = 1; minute < 30; minute += 1) counts.add(polled(minute * MINUTE_MS, "ok", minute), 15_000);
  const columns = columnsOfBuckets(counts.bucketsFrom(0), 1);
  expect(columns[0]?.latency).toEqual({ middleMs: 200, highMs: 500, longestMs: 500 });
  expect(columns.slice(1).map(({ latency }) => latency?.middleMs)).toEqual(
    Array.from({ length: 29 }, (_, minute) => minute + 1),
  );
});
