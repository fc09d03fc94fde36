import { onTestFinished, vi } from "vitest";

/** What a timer that has fired looks like. */
const NEVER = setTimeout(() => {}, 0);

export type StoppedTime = {
  /** So much time passes, as it does for code that keeps its thread busy: no timer fires meanwhile. */
  pass(ms: number): void;
};

/** For code that reads `performance.now`: until the end of the test, time passes only when told to. */
export function stopTime(): StoppedTime {
  let nowMs = 1_000;
  const now = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  onTestFinished(() => now.mockRestore());
  return { pass: (ms) => void (nowMs += ms) };
}

/** How long the timers are that are set until the end of the test. None is waited for: each fires at once. */
export function timersAtOnce(): readonly number[] {
  const setMs: number[] = [];
  const timers = vi.spyOn(globalThis, "setTimeout").mockImplementation((fire, ms) => {
    setMs.push(ms ?? 0);
    setImmediate(fire);
    return NEVER;
  });
  onTestFinished(() => timers.mockRestore());
  return setMs;
}
