import type { Clock } from "../kernel/time/clock.ts";

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's clocks. Sleeps are rounded up: a timer that fires a fraction too early would only be set again. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  sleep: (delayMs, signal) =>
    new Promise((resolve) => {
      const timerMs = Math.min(LONGEST_TIMER_MS, Math.max(0, Math.ceil(delayMs)));
      if (signal === undefined) return void setTimeout(resolve, timerMs).unref();
      if (signal.aborted) return resolve();
      const timer = setTimeout(done, timerMs);
      function done(): void {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      }
      signal.addEventListener("abort", done);
    }),
};
