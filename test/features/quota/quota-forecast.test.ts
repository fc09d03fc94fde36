import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type BurnWindow, worstBurn } from "../../../src/features/history/credit.ts";
import type { QuotaBuckets } from "../../../src/features/quota/quota.ts";
import { quotaBurns, type QuotaUse } from "../../../src/features/quota/quota-forecast.ts";

const SEED = 20_261_122;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Twenty minutes past an hour. */
const NOW_MS = Date.parse("2026-11-22T10:20:00Z");

/** So many requests in each of the last hours, the oldest first, the present hour last. */
function sent(hours: readonly number[], periodMs: number): QuotaUse {
  const thisHour = Math.floor(NOW_MS / HOUR_MS);
  const buckets = new Map(hours.map((requests, index) => [thisHour - (hours.length - 1 - index), requests]));
  return { used: usedAt(NOW_MS, buckets, periodMs), buckets };
}

/** A bucket counts until all of it is older than the period. */
function usedAt(atMs: number, buckets: QuotaBuckets, periodMs: number): number {
  const oldestHour = Math.floor((atMs - periodMs) / HOUR_MS);
  return [...buckets].reduce((sum, [hour, requests]) => (hour < oldestHour ? sum : sum + requests), 0);
}

function hoursLeft(most: number, perMs: number, use: QuotaUse): number | undefined {
  const emptyAtMs = worstBurn(quotaBurns({ most, perMs }, use, NOW_MS))?.emptyAtMs;
  return emptyAtMs === undefined ? undefined : (emptyAtMs - NOW_MS) / HOUR_MS;
}

function known(use: QuotaUse, perMs = 30 * DAY_MS): readonly BurnWindow[] {
  return quotaBurns({ most: 1_000_000, perMs }, use, NOW_MS).flatMap(({ window, perSecond }) =>
    perSecond === undefined ? [] : [window],
  );
}

/** An hour has sixty requests, of which a third is sent in twenty minutes. */
const steady = (hours: number): readonly number[] => [...Array.from({ length: hours }, () => 60), 20];

test("a quota that is used evenly never ends, however full it is", () => {
  // In whole hours, a day is twenty-five of them.
  expect(hoursLeft(25 * 60 + 1, DAY_MS, sent(steady(30), DAY_MS))).toBeUndefined();
  expect(hoursLeft(60 * 24 * 31, 30 * DAY_MS, sent(steady(29 * 24), 30 * DAY_MS))).toBeUndefined();
});

test("one that is too small ends when its requests are sent", () => {
  const use = sent(steady(48), 30 * DAY_MS);
  expect(use.used).toBe(48 * 60 + 20);
  expect(hoursLeft(use.used + 600, 30 * DAY_MS, use)).toBeCloseTo(10, 6);
});

test("what leaves its period meanwhile is there again", () => {
  // Of a day: six hundred were sent in the hour that leaves first.
  const hours = [600, ...Array.from({ length: 23 }, () => 60), 20];
  const use = sent(hours, DAY_MS);
  expect(hoursLeft(use.used + 30, DAY_MS, use)).toBeCloseTo(0.5, 6);
  expect(hoursLeft(use.used + 100, DAY_MS, use)).toBeUndefined();
});

test("one that is spent is empty now, however little is known of its pace", () => {
  expect(hoursLeft(20, DAY_MS, sent([20], DAY_MS))).toBe(0);
  expect(hoursLeft(20, DAY_MS, sent([], DAY_MS))).toBeUndefined();
});

test("a pace is known once half of its window is, without the first hour of all", () => {
  expect(known(sent([], DAY_MS))).toEqual([]);
  expect(known(sent([60, 20], DAY_MS))).toEqual([]);
  expect(known(sent([60, 60, 20], DAY_MS))).toEqual(["1h"]);
  expect(known(sent(steady(13), DAY_MS))).toEqual(["1h", "1d"]);
  expect(known(sent(steady(4 * 24), 30 * DAY_MS))).toEqual(["1h", "1d", "7d"]);
});

test("the pace is a part of the quota", () => {
  const burns = quotaBurns({ most: 600, perMs: 30 * DAY_MS }, sent(steady(13), 30 * DAY_MS), NOW_MS);
  expect(burns[0]?.perSecond).toBeCloseTo(0.1 / 3600, 9);
});

const STEP_MS = 60_000;

/** Buckets are whole hours: the newest of them is full an hour after the period. Infinite if never. */
function usedUpBySending(allowed: number, perMs: number, { buckets }: QuotaUse, paceMs: number): number {
  const sentBy = new Map(buckets);
  for (let atMs = NOW_MS; atMs <= NOW_MS + perMs + HOUR_MS; atMs += STEP_MS) {
    if (usedAt(atMs, sentBy, perMs) >= allowed) return atMs;
    const hour = Math.floor(atMs / HOUR_MS);
    sentBy.set(hour, (sentBy.get(hour) ?? 0) + paceMs * STEP_MS);
  }
  return Infinity;
}

test("what is told agrees with sending on at that pace, request by request", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 4, maxLength: 60 }),
      fc.integer({ min: 2, max: 48 }),
      fc.integer({ min: 1, max: 4_000 }),
      (hours, periodHours, allowed) => {
        const perMs = periodHours * HOUR_MS;
        const use = sent(hours, perMs);
        const [hour] = quotaBurns({ most: allowed, perMs }, use, NOW_MS);
        const paceMs = ((hour?.perSecond ?? 0) * allowed) / 1000;
        // Steps are coarse: whoever is between these two may say either.
        const margin = 2 * paceMs * STEP_MS + 1e-6;
        const [earliestMs, latestMs] = [allowed - margin, allowed + margin].map((most) =>
          usedUpBySending(most, perMs, use, paceMs),
        );
        const emptyAtMs = hour?.emptyAtMs ?? Infinity;
        expect(emptyAtMs).toBeGreaterThanOrEqual((earliestMs ?? 0) - STEP_MS);
        expect(emptyAtMs).toBeLessThanOrEqual((latestMs ?? Infinity) + STEP_MS);
      },
    ),
    { seed: SEED, numRuns: 300 },
  );
});
