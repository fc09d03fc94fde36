import { afterEach, expect, test, vi } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";

afterEach(() => {
  // In this order, or the timers that come back are the false ones, for all files that this process runs.
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test("a sleep that is longer than a timer can count is one of the longest timer, and not of none", async () => {
  vi.useFakeTimers();
  const timers = vi.spyOn(globalThis, "setTimeout");
  const controller = new AbortController();
  const slept = systemClock.sleep(2 ** 40, controller.signal);
  expect(timers.mock.calls.map(([, delayMs]) => delayMs)).toEqual([2_147_483_647]);
  controller.abort();
  await slept;
});

test("a sleep of a part of a millisecond is rounded up, and one into the past is over at once", async () => {
  vi.useFakeTimers();
  const timers = vi.spyOn(globalThis, "setTimeout");
  const slept = Promise.all([systemClock.sleep(4.2), systemClock.sleep(-5)]);
  expect(timers.mock.calls.map(([, delayMs]) => delayMs)).toEqual([5, 0]);
  await vi.advanceTimersByTimeAsync(5);
  await slept;
});

test("who is told to stop before the sleep does not sleep, and leaves no timer", async () => {
  vi.useFakeTimers();
  await systemClock.sleep(1_000, AbortSignal.abort());
  expect(vi.getTimerCount()).toBe(0);
});

test("who is told to stop during the sleep wakes, and leaves no timer", async () => {
  vi.useFakeTimers();
  const controller = new AbortController();
  const slept = systemClock.sleep(1_000, controller.signal);
  controller.abort();
  await slept;
  expect(vi.getTimerCount()).toBe(0);
});
