import { expect, it } from "vitest";
import { ALGORITHMS } from "../../support/algorithms.ts";
import { expectWithinLimits, saturate, unevenWayTo, upstream } from "./saturation.ts";

/** So many polls meet each fault. */
const MET = 6;
const LIMIT = { requests: 20, perMs: 2_000 };

it.each([{ algorithm: "sliding_log" }, { algorithm: "token_bucket" }] as const)(
  "an upstream of whose limit our share is taken as fast as it is given never counts one too many by its $algorithm",
  async ({ algorithm }) => {
    await using simulated = await upstream({ limits: [LIMIT], algorithm: ALGORITHMS[algorithm] });
    await using way = await unevenWayTo(simulated);
    const isOver = (): boolean => simulated.requests >= 3 * LIMIT.requests;
    const recorders = await saturate(way, { limits: [LIMIT], isOver });
    expectWithinLimits(simulated);
    expect(simulated.violations).toBe(0);
    for (const recorder of recorders) expect(recorder.closes()).toBe(true);
  },
);

it("never counts one too many in its shorter window nor in its longer one", async () => {
  const limits = [{ requests: 5, perMs: 300 }, LIMIT];
  await using simulated = await upstream({ limits, latency: { minMs: 0, maxMs: 200 } });
  await saturate(simulated, { limits, isOver: () => simulated.requests >= 3 * LIMIT.requests });
  expectWithinLimits(simulated);
  expect(simulated.violations).toBe(0);
});

it("never counts one too many while it breaks in every way, each failure is confirmed, and it throttles us for nothing", async () => {
  const faults = [
    { kind: "status", code: 500 },
    { kind: "reset", at: "before_head" },
    { kind: "reset", at: "mid_body" },
    { kind: "hang", at: "before_head" },
    { kind: "garbage", text: "220 ready when you are\r\n" },
    { kind: "close", at: "mid_body" },
    { kind: "throttle", retryAfter: "1" },
  ] as const;
  await using simulated = await upstream({ limits: [LIMIT], latency: { minMs: 0, maxMs: 100 } });
  // Each until some polls have met it, then none: so all are met, however slow the machine is.
  let [turn, metBefore] = [0, 0];
  const recorders = await saturate(simulated, {
    limits: [LIMIT],
    timeoutMs: 300,
    // A process that waits for a CPU at each step, to connect, to accept and to read, counts a request so much later.
    lingerMs: 10_000,
    confirm: 1,
    isOver: (polls) => {
      simulated.setFault(faults[turn] ?? { kind: "none" });
      if (turn === faults.length) return polls.at(-1)?.outcome.kind === "ok";
      if (polls.length - metBefore < MET) return false;
      turn += 1;
      metBefore = polls.length;
      return false;
    },
  });
  expectWithinLimits(simulated);
  const polls = recorders.flatMap((recorder) => recorder.polls).toSorted((a, b) => a.endedAtMs - b.endedAtMs);
  expect(simulated.requests).toBeLessThanOrEqual(polls.length);
  expect(polls.filter(({ origin }) => origin === "confirm").length).toBeGreaterThan(5);
  const outcomes = polls.map(({ outcome }) => outcome.kind);
  expect(outcomes).toContain("throttled");
  expect(outcomes.at(-1)).toBe("ok");
});
