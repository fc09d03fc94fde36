import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { cronTriggers } from "../../src/adapters/node-cron.ts";
import { scheduleCron } from "../../src/core/schedule/schedule.ts";

/** What node-cron was asked to wake, and how to wake it. */
const tasks = vi.hoisted(() => ({
  planned: [] as string[],
  wake: (): void => {},
  destroyed: 0,
}));

vi.mock("node-cron", () => ({
  schedule: (expression: string, wake: () => void) => {
    tasks.planned.push(expression);
    tasks.wake = wake;
    return { destroy: () => void (tasks.destroyed += 1) };
  },
}));

const START_MS = Date.UTC(2026, 0, 1, 10);
const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: START_MS });
  Object.assign(tasks, { planned: [], destroyed: 0 });
});

afterEach(() => {
  vi.useRealTimers();
});

/** Every ten seconds, from the first slot after the hour; woken so many milliseconds after that hour. */
function ticksOf(...wokenAfterMs: readonly number[]): readonly number[] {
  const reading = scheduleCron("*/10 * * * * *");
  if (reading.kind === "refused") throw new Error(reading.message);
  const ticks: number[] = [];
  const trigger = cronTriggers(SILENT).start(reading.schedule, (atMs) => ticks.push(atMs - START_MS));
  for (const afterMs of wokenAfterMs) {
    vi.setSystemTime(START_MS + afterMs);
    tasks.wake();
  }
  trigger.stop();
  return ticks;
}

test.each([
  ["in its second", [10_400], [10_000]],
  ["a second late: the slot is still that of its second", [11_400], [10_000]],
  ["two seconds late: it is missed", [12_400], []],
  ["late by more than a slot: the present one is made", [30_200], [30_000]],
  ["too early, as where the clock was set back: it waits", [9_900], []],
  ["twice in one second: once", [10_100, 10_900], [10_000]],
  ["a second late, and in time for the next", [11_000, 20_000], [10_000, 20_000]],
])("woken %s", (_, wokenAfterMs, expected) => {
  expect(ticksOf(...wokenAfterMs)).toEqual(expected);
});

test("the next slot is planned by the time of day in UTC, and the task before it is given up", () => {
  ticksOf(10_000, 20_000);
  expect(tasks.planned).toEqual(["10 0 10 * * *", "20 0 10 * * *", "30 0 10 * * *"]);
  expect(tasks.destroyed).toBe(3);
});
