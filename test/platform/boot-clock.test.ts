import { expect, test } from "vitest";
import { sinceBoot } from "../../src/platform/boot-clock.ts";

/** A machine whose clocks stand where they are put. */
function machine() {
  const state = { monoMs: 1_000, wallMs: 1_790_000_000_000, bootMs: 50_000, asked: 0 };
  const clock = {
    now: () => state.monoMs,
    wallNow: () => state.wallMs,
    sleep: () => Promise.resolve(),
  };
  const runs = (ms: number): void => {
    state.monoMs += ms;
    state.wallMs += ms;
    state.bootMs += ms;
  };
  const isSuspended = (ms: number): void => {
    state.wallMs += ms;
    state.bootMs += ms;
  };
  const bootMs = sinceBoot(clock, () => {
    state.asked += 1;
    return state.bootMs;
  });
  return { state, runs, isSuspended, bootMs };
}

test("the time since boot is asked for ten times a second at most, and goes on meanwhile", () => {
  const { state, runs, bootMs } = machine();
  for (let ms = 0; ms < 1_000; ms += 1) {
    expect(bootMs()).toBeCloseTo(50_000 + ms);
    runs(1);
  }
  expect(state.asked).toBe(10);
});

test("after a suspension it is asked for at once, however short ago it was", () => {
  const { runs, isSuspended, bootMs } = machine();
  bootMs();
  runs(1);
  isSuspended(60_000);
  expect(bootMs()).toBe(110_001);
});

test("a wall clock that is stepped changes nothing of it", () => {
  const { state, runs, bootMs } = machine();
  for (const byMs of [-86_400_000, 86_400_000, -20]) {
    const before = bootMs();
    runs(1);
    state.wallMs += byMs;
    expect(bootMs()).toBe(before + 1);
  }
});
