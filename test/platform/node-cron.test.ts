import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { cronTriggers } from "../../src/platform/node-cron.ts";
import { scheduleCron, scheduleEvery, slotsOf } from "../../src/kernel/schedule/schedule.ts";

const START_MS = Date.UTC(2026, 0, 1, 10);
const PERIOD_MS = 10_000;
const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ["Date", "setTimeout", "clearTimeout", "setImmediate", "clearImmediate"],
    now: START_MS,
  });
});

afterEach(() => {
  vi.useRealTimers();
});

/** Every ten seconds, from the first slot after the hour; woken so many milliseconds after that hour. */
async function ticksOf(...wokenAfterMs: readonly number[]): Promise<readonly number[]> {
  const reading = scheduleCron("*/10 * * * * *");
  if (reading.kind === "refused") throw new Error(reading.message);
  const ticks: number[] = [];
  const trigger = cronTriggers(SILENT).start(reading.schedule, (atMs) => ticks.push(atMs - START_MS));
  for (const afterMs of wokenAfterMs) {
    // The timer is late, or early, by the wall clock.
    const waitMs = PERIOD_MS - (Date.now() % PERIOD_MS);
    vi.setSystemTime(START_MS + afterMs - waitMs);
    await vi.advanceTimersByTimeAsync(waitMs);
  }
  trigger.stop();
  return ticks;
}

test.each([
  ["in its second", [10_400], [10_000]],
  ["a second late: the slot is still that of its second", [11_400], [10_000]],
  ["two seconds late: it is missed", [12_400], []],
  ["late by more than a slot: the present one is made", [30_200], [30_000]],
  ["a second late, and in time for the next", [11_000, 20_000], [10_000, 20_000]],
])("woken %s", async (_, wokenAfterMs, expected) => {
  expect(await ticksOf(...wokenAfterMs)).toEqual(expected);
});

test.each([7_000, 45_000, 90_000])(
  "a period that divides no minute ticks evenly: %s ms",
  async (periodMs) => {
    const schedule = scheduleEvery(periodMs, "email");
    const ticks: number[] = [];
    const trigger = cronTriggers(SILENT).start(schedule, (atMs) => ticks.push(atMs));
    const firstMs = slotsOf(schedule).next(START_MS);
    await vi.advanceTimersByTimeAsync(firstMs - START_MS + 4 * periodMs);
    trigger.stop();
    expect(ticks).toEqual([0, 1, 2, 3, 4].map((slot) => firstMs + slot * periodMs));
  },
);
