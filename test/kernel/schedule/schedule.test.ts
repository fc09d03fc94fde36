import * as fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { hash32 } from "../../../src/kernel/schedule/hash.ts";
import {
  type Schedule,
  scheduleCron,
  scheduleEvery,
  slotsOf,
} from "../../../src/kernel/schedule/schedule.ts";
import { sampleCron } from "../../support/kernel-samples.ts";

const SEED = 20_261_128;

function every(periodMs: number, name = "api"): Schedule {
  return scheduleEvery(periodMs, name);
}

function cron(text: string): Schedule {
  const reading = scheduleCron(text);
  if (reading.kind === "refused") throw new Error(reading.message);
  return reading.schedule;
}

afterEach(() => {
  vi.useRealTimers();
});

const DAY_S = 86_400;

describe("every", () => {
  const periods = fc.oneof(
    fc.constantFrom(1, 7, 45, 60, 90, 3_600, DAY_S),
    fc.integer({ min: 1, max: DAY_S }),
  );
  const moments = fc.integer({ min: 0, max: 4_000_000_000_000 });

  test("comes evenly from 1970 on, at the phase of the name, and is counted as it comes", () => {
    fc.assert(
      fc.property(periods, fc.string({ minLength: 1 }), moments, (periodS, name, fromMs) => {
        const slots = slotsOf(every(periodS * 1_000, name));
        const firstMs = slots.next(fromMs);
        expect(firstMs % (periodS * 1_000)).toBe((hash32(name) % periodS) * 1_000);
        expect(firstMs).toBeGreaterThan(fromMs);
        expect(firstMs - fromMs).toBeLessThanOrEqual(periodS * 1_000);
        const secondMs = slots.next(firstMs);
        expect(secondMs - firstMs).toBe(periodS * 1_000);
        expect(slots.countBetween(firstMs, secondMs)).toBe(1);
        expect(slots.countBetween(fromMs, firstMs - 1)).toBe(0);
        expect(slots.countBetween(fromMs, secondMs)).toBe(2);
        expect(slots.countBetween(secondMs, firstMs)).toBe(0);
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  test("never has more slots in a window than its periods, rounded up, and somewhere as many", () => {
    fc.assert(
      fc.property(periods, fc.integer({ min: 1, max: 10 * DAY_S }), moments, (periodS, windowS, fromMs) => {
        const slots = slotsOf(every(periodS * 1_000));
        const most = slots.mostWithin(windowS * 1_000);
        expect(most).toBe(Math.ceil(windowS / periodS));
        expect(slots.countBetween(fromMs, fromMs + windowS * 1_000)).toBeLessThanOrEqual(most);
        const slotMs = slots.next(fromMs);
        expect(slots.countBetween(slotMs - 1, slotMs - 1 + windowS * 1_000)).toBe(most);
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  test("a moment that is no number has no slot after it", () => {
    expect(slotsOf(every(45_000)).next(Number.NaN)).toBe(Infinity);
    expect(slotsOf(every(45_000)).countBetween(Number.NaN, 1)).toBe(0);
  });

  test("a name keeps its phase for good", () => {
    const firstOf = (periodMs: number, name: string): string =>
      new Date(slotsOf(every(periodMs, name)).next(Date.UTC(2026, 10, 28))).toISOString().slice(11, 19);
    expect(firstOf(5_000, "email")).toBe("00:00:02");
    expect(firstOf(15_000, "ai-router")).toBe("00:00:01");
    expect(firstOf(300_000, "ai-router")).toBe("00:00:46");
    expect(firstOf(86_400_000, "ai-router")).toBe("16:00:46");
  });

  test("names that look alike get phases apart", () => {
    const phases = Array.from({ length: 600 }, (_, index) => hash32(`api-${index}`) % 60);
    const counts = Array.from({ length: 60 }, (_, phase) => phases.filter((other) => other === phase).length);
    expect(Math.min(...counts)).toBeGreaterThan(0);
    expect(Math.max(...counts)).toBeLessThan(30);
  });

  test("its gaps are all its period", () => {
    for (const periodMs of [1_000, 15_000, 45_000, 90_000, 3_600_000, 86_400_000]) {
      const schedule = every(periodMs);
      expect(slotsOf(schedule).isEven).toBe(true);
      expect(slotsOf(schedule).shortestGapMs).toBe(periodMs);
      expect(slotsOf(schedule).slotsPerDay * periodMs).toBeCloseTo(86_400_000, 3);
    }
  });
});

describe("cron", () => {
  test("of five fields is given second 0, and says how it was written", () => {
    expect(cron(" 0  9 * * 1 ")).toEqual({
      kind: "cron",
      expression: "0 0 9 * * 1",
      source: "cron 0 9 * * 1",
      longestGapMs: 7 * 86_400_000,
    });
  });

  test("that is uneven counts its busiest window", () => {
    const schedule = cron("0,1,2 * * * * *");
    expect(slotsOf(schedule).isEven).toBe(false);
    expect(slotsOf(schedule).mostWithin(3000)).toBe(3);
    expect(slotsOf(schedule).shortestGapMs).toBe(1000);
    expect(schedule.longestGapMs).toBe(58_000);
  });

  test("slots between two moments leave out the first and take in the last", () => {
    const schedule = cron("*/10 * * * * *");
    expect(slotsOf(schedule).countBetween(0, 30_000)).toBe(3);
    expect(slotsOf(schedule).countBetween(0, 29_999)).toBe(2);
    expect(slotsOf(schedule).countBetween(30_000, 30_000)).toBe(0);
    expect(slotsOf(schedule).countBetween(60_000, 30_000)).toBe(0);
  });

  test("a schedule that was made elsewhere, as plain data, works the same", () => {
    const copy: Schedule = { ...cron("*/10 * * * * *") };
    expect(slotsOf(copy).next(1)).toBe(10_000);
    expect(() => slotsOf({ ...copy, expression: "never" }).next(0)).toThrow(/must be a schedule/);
  });
});

test.each([
  ["*/15 * * * * *", 1],
  ["0 9 * * 1", 1],
  ["0,1 * * * * *", 1],
  ["*/15 * 8-17 * * MON-FRI", (10 * 5) / (24 * 7)],
  ["0 9-17 * * *", 9 / 24],
])("%s watches %f of all time", (text, ratio) => {
  expect(slotsOf(sampleCron(text)).watchedRatio).toBeCloseTo(ratio, 2);
});
