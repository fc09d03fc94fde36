import { nodeCron } from "node-cron";
import { afterEach, describe, expect, test, vi } from "vitest";
import { hash32 } from "../../../src/core/schedule/hash.ts";
import {
  LEGAL_PERIODS_MS,
  type Schedule,
  scheduleCron,
  scheduleEvery,
  spreadWithinSecond,
  cronOf,
} from "../../../src/core/schedule/schedule.ts";
import { sampleCron } from "../../support/samples.ts";

function every(periodMs: number, name = "api"): Schedule {
  const reading = scheduleEvery(periodMs, name);
  if (reading.kind === "refused") throw new Error(reading.message);
  return reading.schedule;
}

function cron(text: string): Schedule {
  const reading = scheduleCron(text);
  if (reading.kind === "refused") throw new Error(reading.message);
  return reading.schedule;
}

afterEach(() => {
  vi.useRealTimers();
});

describe("every", () => {
  test("period comes evenly at the name's own phase, and node-cron reads it the same", () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const names = Array.from({ length: 8 }, (_, index) => `upstream-${index}`);
    for (const periodMs of LEGAL_PERIODS_MS) {
      for (const name of names) {
        const schedule = every(periodMs, name);
        const fromMs = Date.parse("2026-11-21T23:59:30.250Z") + (hash32(`${name}${periodMs}`) % 86_400_000);
        vi.setSystemTime(fromMs);
        const task = nodeCron.createTask(schedule.expression, () => {}, { timezone: "UTC" });
        const theirs = task.getNextRuns(3).map((date) => date.getTime());
        void task.destroy();
        const firstMs = cronOf(schedule).next(fromMs);
        expect([schedule.expression, ...theirs]).toEqual([
          schedule.expression,
          firstMs,
          firstMs + periodMs,
          firstMs + 2 * periodMs,
        ]);
        expect(firstMs % periodMs).toBe((hash32(name) % (periodMs / 1000)) * 1000);
        expect(firstMs - fromMs).toBeLessThanOrEqual(periodMs);
      }
    }
  });

  test.each([
    [7000, "6s and 10s"],
    [500, "1s"],
    [1500, "1s and 2s"],
    [0, "1s"],
    [45_000, "30s and 1m"],
    [90_000, "1m and 2m"],
    [7 * 60_000, "6m and 10m"],
    [5 * 3_600_000, "4h and 6h"],
    [36 * 3_600_000, "1d"],
  ])("%i milliseconds are refused with the nearest that fit: %s", (periodMs, nearest) => {
    expect(scheduleEvery(periodMs, "api")).toEqual({
      kind: "refused",
      message: `the nearest that fit are ${nearest}`,
    });
  });

  test("a name keeps its phase for good", () => {
    expect(every(15_000, "ai-router").expression).toBe("1-59/15 * * * * *");
    expect(every(5000, "email").expression).toBe("2-59/5 * * * * *");
    expect(every(300_000, "ai-router").expression).toBe("46 0-59/5 * * * *");
    expect(every(86_400_000, "ai-router").expression).toBe("46 0 16 * * *");
  });

  test("names that look alike get phases apart", () => {
    const phases = Array.from({ length: 600 }, (_, index) => hash32(`api-${index}`) % 60);
    const counts = Array.from({ length: 60 }, (_, phase) => phases.filter((other) => other === phase).length);
    expect(Math.min(...counts)).toBeGreaterThan(0);
    expect(Math.max(...counts)).toBeLessThan(30);
  });

  test("an even schedule needs no counting: as many slots as periods, rounded up", () => {
    for (const periodMs of LEGAL_PERIODS_MS) {
      const schedule = every(periodMs);
      expect(cronOf(schedule).isEven).toBe(true);
      expect(cronOf(schedule).shortestGapMs).toBe(periodMs);
      expect(cronOf(schedule).mostWithin(60_000)).toBe(Math.ceil(60_000 / periodMs));
      expect(cronOf(schedule).slotsPerDay * periodMs).toBe(86_400_000);
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
    expect(cronOf(schedule).isEven).toBe(false);
    expect(cronOf(schedule).mostWithin(3000)).toBe(3);
    expect(cronOf(schedule).shortestGapMs).toBe(1000);
    expect(schedule.longestGapMs).toBe(58_000);
  });

  test("slots between two moments leave out the first and take in the last", () => {
    const schedule = cron("*/10 * * * * *");
    expect(cronOf(schedule).countBetween(0, 30_000)).toBe(3);
    expect(cronOf(schedule).countBetween(0, 29_999)).toBe(2);
    expect(cronOf(schedule).countBetween(30_000, 30_000)).toBe(0);
    expect(cronOf(schedule).countBetween(60_000, 30_000)).toBe(0);
  });

  test("a schedule that was made elsewhere, as plain data, works the same", () => {
    const copy: Schedule = { ...cron("*/10 * * * * *") };
    expect(cronOf(copy).next(1)).toBe(10_000);
    expect(() => cronOf({ ...copy, expression: "never" }).next(0)).toThrow(/is not a cron expression/);
  });
});

describe("upstreams on one second", () => {
  test("are spread evenly over it, in an order that only their names decide", () => {
    const names = ["email", "ai-router", "search", "maps"];
    const spread = spreadWithinSecond(names);
    expect([...spread.values()]).toEqual([0, 250, 500, 750]);
    expect(spreadWithinSecond(names.toReversed())).toEqual(spread);
    expect([...spread.keys()].toSorted()).toEqual(names.toSorted());
  });

  test("one alone starts at the second itself, and the last of many before the next", () => {
    expect(spreadWithinSecond(["only"])).toEqual(new Map([["only", 0]]));
    expect(spreadWithinSecond([])).toEqual(new Map());
    const many = spreadWithinSecond(Array.from({ length: 1500 }, (_, index) => `api-${index}`));
    expect(Math.max(...many.values())).toBeLessThan(1000);
    expect(many.size).toBe(1500);
  });
});

test.each([
  ["*/15 * * * * *", 1],
  ["0 9 * * 1", 1],
  ["0,1 * * * * *", 1],
  ["*/15 * 8-17 * * MON-FRI", (10 * 5) / (24 * 7)],
  ["0 9-17 * * *", 9 / 24],
])("%s watches %f of all time", (text, ratio) => {
  expect(cronOf(sampleCron(text)).watchedRatio).toBeCloseTo(ratio, 2);
});
