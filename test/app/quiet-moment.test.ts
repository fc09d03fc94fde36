import { expect, test } from "vitest";
import { quietMoment } from "../../src/app/quiet-moment.ts";

/** How often it slept before it resolved, when this many requests were in flight at each look. */
async function sleepsUntilQuiet(
  upstreams: number,
  inFlightAtLooks: readonly number[],
  signal: AbortSignal = new AbortController().signal,
): Promise<number> {
  let sleeps = 0;
  await quietMoment({
    upstreams,
    inFlight: () => inFlightAtLooks[sleeps - 1] ?? 1,
    clock: {
      sleep: (delayMs) => {
        expect(delayMs).toBe(1_000);
        sleeps += 1;
        return Promise.resolve();
      },
    },
    signal,
  });
  return sleeps;
}

test("with few upstreams it waits until no request is in flight", async () => {
  expect(await sleepsUntilQuiet(2, [0])).toBe(1);
  expect(await sleepsUntilQuiet(50, [3, 1, 0])).toBe(3);
});

test("it does not wait for ever for an upstream that hangs", async () => {
  expect(await sleepsUntilQuiet(2, [])).toBe(10);
});

test("with many upstreams it does not wait for what never comes", async () => {
  expect(await sleepsUntilQuiet(51, [])).toBe(0);
});

test("it does not wait once the daemon stops", async () => {
  expect(await sleepsUntilQuiet(2, [], AbortSignal.abort())).toBe(0);
});
