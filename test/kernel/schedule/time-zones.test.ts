import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Cron } from "../../../src/kernel/schedule/cron.ts";
import { parseCron } from "../../../src/kernel/schedule/parse-cron.ts";
import { slotsOf, scheduleCron } from "../../../src/kernel/schedule/schedule.ts";
import { worlds } from "../../support/many.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

function cron(text: string, timeZone: string): Cron {
  const reading = parseCron(text, timeZone);
  if (reading.kind === "refused") throw new Error(reading.message);
  return reading.cron;
}

/** The next slots after a moment, in UTC. */
function slots(text: string, timeZone: string, after: string, many: number): readonly string[] {
  const found: string[] = [];
  let atMs = Date.parse(after);
  while (found.length < many) {
    atMs = cron(text, timeZone).next(atMs);
    found.push(new Date(atMs).toISOString().slice(0, 16));
  }
  return found;
}

describe("a slot at a fixed hour", () => {
  test("follows the local time over the year", () => {
    expect(slots("0 9 * * MON-FRI", "Europe/Berlin", "2026-03-26T12:00:00Z", 3)).toEqual([
      "2026-03-27T08:00",
      "2026-03-30T07:00",
      "2026-03-31T07:00",
    ]);
  });

  test("that does not exist is polled once, as long after the change as it would have been", () => {
    expect(slots("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 3)).toEqual([
      "2026-03-28T01:30",
      "2026-03-29T01:30",
      "2026-03-30T00:30",
    ]);
    // What falls together is one poll.
    expect(slots("30 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", 2)).toEqual([
      "2026-03-29T01:30",
      "2026-03-30T00:30",
    ]);
  });

  test("that comes twice is polled once, the first time", () => {
    expect(slots("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2)).toEqual([
      "2026-10-25T00:30",
      "2026-10-26T01:30",
    ]);
  });
});

test("an expression for every hour runs on", () => {
  expect(slots("30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", 3)).toEqual([
    "2026-03-29T00:30",
    "2026-03-29T01:30",
    "2026-03-29T02:30",
  ]);
  expect(slots("30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", 3)).toEqual([
    "2026-10-25T00:30",
    "2026-10-25T01:30",
    "2026-10-25T02:30",
  ]);
  expect(cron("*/15 * * * * *", "Europe/Berlin").isEven).toBe(true);
  expect(cron("*/15 * * * * *", "Europe/Berlin").mostWithin(HOUR_MS)).toBe(240);
});

test("the longest and the shortest day are between two slots of a day", () => {
  const daily = cron("0 9 * * *", "Europe/Berlin");
  expect([daily.longestGapMs, daily.shortestGapMs]).toEqual([25 * HOUR_MS, 23 * HOUR_MS]);
  expect(cron("0 9 * * *", "Asia/Kolkata").longestGapMs).toBe(DAY_MS);
});

test("a window counts the worst hour of a change: slots that are hours apart may be minutes apart there", () => {
  const local = cron("59 2 * * *", "UTC").mostWithin(2 * MINUTE_MS);
  expect(local).toBe(1);
  // 2:59 is skipped, and polled at 3:59; 4:00 is a minute later.
  expect(cron("0,59 2,4 * * *", "Europe/Berlin").mostWithin(2 * MINUTE_MS)).toBe(2);
  expect(cron("0,59 2,4 * * *", "UTC").mostWithin(2 * MINUTE_MS)).toBe(1);
});

test("a schedule is found again by its expression alone, which names its zone", () => {
  const reading = scheduleCron("0 9 * * 1", "America/New_York");
  if (reading.kind === "refused") throw new Error(reading.message);
  expect(reading.schedule).toMatchObject({
    expression: "0 0 9 * * 1 America/New_York",
    source: "cron 0 9 * * 1 America/New_York",
  });
  const elsewhere = structuredClone(reading.schedule);
  expect(slotsOf(elsewhere).next(Date.parse("2026-11-23T00:00:00Z"))).toBe(
    Date.parse("2026-11-23T14:00:00Z"),
  );
});

const ZONES = [
  "Europe/Berlin",
  "America/New_York",
  "America/Havana",
  "Asia/Beirut",
  "Africa/Casablanca",
  "Australia/Lord_Howe",
  "Pacific/Chatham",
  "Asia/Kolkata",
];

/** Local time by Node.js itself, as if it were UTC. */
function localOf(format: Intl.DateTimeFormat, atMs: number): number {
  const part = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
  const of = (type: Intl.DateTimeFormatPartTypes): number => part.get(type) ?? 0;
  return Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"));
}

type Judged = { readonly hours: readonly number[]; readonly minutes: readonly number[] };

/** Each slot of these two days, found by looking at every minute. */
function slotsOfTwoDays({ hours, minutes }: Judged, timeZone: string, fromMs: number): readonly number[] {
  const format = new Intl.DateTimeFormat("en-u-hc-h23", {
    timeZone,
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  });
  const isDue = (localMs: number): boolean =>
    hours.includes(new Date(localMs).getUTCHours()) && minutes.includes(new Date(localMs).getUTCMinutes());
  const found = new Set<number>();
  const seen = new Map<number, number>();
  let last = localOf(format, fromMs - DAY_MS - MINUTE_MS);
  for (let atMs = fromMs - DAY_MS; atMs < fromMs + 2 * DAY_MS; atMs += MINUTE_MS) {
    const localMs = localOf(format, atMs);
    if (hours.length === 24) {
      if (isDue(localMs)) found.add(atMs);
    } else {
      if (isDue(localMs) && !seen.has(localMs)) found.add(atMs);
      // Skipped: from here on, each of them comes as long after the change as it lies after the last minute before it.
      for (let skipped = last + MINUTE_MS; skipped < localMs; skipped += MINUTE_MS) {
        if (isDue(skipped)) found.add(atMs + skipped - last - MINUTE_MS);
      }
    }
    seen.set(localMs, atMs);
    last = localMs;
  }
  return [...found].filter((atMs) => atMs >= fromMs && atMs < fromMs + 2 * DAY_MS).toSorted((a, b) => a - b);
}

test("the slots around every change, their number and the busiest window are those that a look at every minute finds", () => {
  const some = (most: number): fc.Arbitrary<readonly number[]> =>
    fc.uniqueArray(fc.nat(most), { minLength: 1, maxLength: 5 });
  const changes = new Map(
    ZONES.map((zone) => {
      const format = new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" });
      const days = Array.from({ length: 1_200 }, (_, day) => Date.UTC(2026, 0, 1) + day * DAY_MS);
      const offset = (atMs: number): string => format.format(atMs).split(", ")[1] ?? "";
      const found = days.filter((day) => offset(day) !== offset(day + DAY_MS));
      return [zone, found.length === 0 ? days.slice(0, 1) : found] as const;
    }),
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...ZONES),
      fc.nat(20),
      fc.oneof(some(23), fc.constant(Array.from({ length: 24 }, (_, hour) => hour)), some(4)),
      some(59),
      fc.integer({ min: 1, max: 60 }),
      (zone, which, hours, minutes, windowMinutes) => {
        const days = changes.get(zone) ?? [];
        const fromMs = days[which % days.length] ?? 0;
        const expected = slotsOfTwoDays({ hours, minutes }, zone, fromMs);
        const asked = cron(`${minutes.join()} ${hours.length === 24 ? "*" : hours.join()} * * *`, zone);
        const found: number[] = [];
        const endMs = fromMs + 2 * DAY_MS;
        for (let at = asked.next(fromMs - 1); at < endMs; at = asked.next(at)) found.push(at);
        expect(found).toEqual(expected);
        expect(asked.countBetween(fromMs - 1, endMs - 1)).toBe(expected.length);
        const windowMs = windowMinutes * MINUTE_MS;
        const busiest = Math.max(
          0,
          ...expected.map((start) => expected.filter((at) => at >= start && at < start + windowMs).length),
        );
        expect(asked.mostWithin(windowMs)).toBeGreaterThanOrEqual(busiest);
        expect(asked.mostWithin(26 * HOUR_MS)).toBeGreaterThanOrEqual(
          Math.max(
            0,
            ...expected.map(
              (start) => expected.filter((at) => at >= start && at < start + 26 * HOUR_MS).length,
            ),
          ),
        );
        for (const [index, at] of expected.slice(1).entries()) {
          const gap = at - (expected[index] ?? 0);
          expect(gap).toBeLessThanOrEqual(asked.longestGapMs);
          expect(gap).toBeGreaterThanOrEqual(asked.shortestGapMs);
        }
      },
    ),
    { numRuns: worlds(10), seed: 7 },
  );
});
