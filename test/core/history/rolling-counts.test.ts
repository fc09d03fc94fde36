import { expect, test } from "vitest";
import { RollingCounts } from "../../../src/core/history/rolling-counts.ts";

const MINUTE_MS = 60_000;

test("a bucket counts until all of it is older than the window", () => {
  const counts = new RollingCounts(MINUTE_MS, 60);
  counts.add(0, true);
  counts.add(MINUTE_MS, false);
  expect(counts.within(3 * MINUTE_MS, 3 * MINUTE_MS)).toEqual({ ok: 1, failed: 1 });
  expect(counts.within(3 * MINUTE_MS, 4 * MINUTE_MS)).toEqual({ ok: 0, failed: 1 });
  expect(counts.within(3 * MINUTE_MS, 5 * MINUTE_MS)).toEqual({ ok: 0, failed: 0 });
});

test("its memory is the length of its window, however long it runs", () => {
  const counts = new RollingCounts(MINUTE_MS, 60);
  for (let minute = 0; minute < 1_000; minute += 1) counts.add(minute * MINUTE_MS, true);
  expect(counts.within(1_000 * MINUTE_MS, 999 * MINUTE_MS)).toEqual({ ok: 61, failed: 0 });
});

test("a wall clock that was set back goes on filling the newest bucket", () => {
  const counts = new RollingCounts(MINUTE_MS, 60);
  counts.add(10 * MINUTE_MS, true);
  counts.add(2 * MINUTE_MS, false);
  expect(counts.within(MINUTE_MS, 10 * MINUTE_MS)).toEqual({ ok: 1, failed: 1 });
});

test("it goes on where a former life ended, in the same bucket too", () => {
  const counts = new RollingCounts(MINUTE_MS, 60, [
    { index: 1, ok: 5, failed: 0 },
    { index: 3, ok: 2, failed: 1 },
  ]);
  counts.add(3 * MINUTE_MS + 30_000, false);
  expect(counts.within(MINUTE_MS, 4 * MINUTE_MS)).toEqual({ ok: 2, failed: 2 });
  expect(counts.within(3 * MINUTE_MS, 4 * MINUTE_MS)).toEqual({ ok: 7, failed: 2 });
});

test("what was restored is bounded like what was counted, and grows old like it", () => {
  const restored = Array.from({ length: 200 }, (_, index) => ({ index, ok: 1, failed: 0 }));
  const counts = new RollingCounts(MINUTE_MS, 60, restored);
  expect(counts.within(200 * MINUTE_MS, 199 * MINUTE_MS).ok).toBe(61);
  counts.add(1_000 * MINUTE_MS, true);
  expect(counts.within(1_000 * MINUTE_MS, 1_000 * MINUTE_MS).ok).toBe(1);
});
