import { expect, it } from "vitest";
import { ALGORITHMS } from "../../support/algorithms.ts";
import { expectWithinLimits, saturate, upstream, usedPart } from "./saturation.ts";

const RUN_MS = 6_000;
/** On a quiet machine it is nine tenths; one that is busy with other things as well sends later. */
const LEAST_USED = 0.4;
const LIMIT = { requests: 20, perMs: 2_000 };

it.each([
  { algorithm: "sliding_log", connection: "fresh" },
  { algorithm: "fixed_window", connection: "reuse" },
  { algorithm: "token_bucket", connection: "fresh" },
] as const)(
  "much of a limit is used that is never exceeded, by its $algorithm ($connection connections)",
  async ({ algorithm, connection }) => {
    const delays = { countingDelay: { minMs: 0, maxMs: 200 }, latency: { minMs: 0, maxMs: 200 } };
    await using simulated = await upstream({ limits: [LIMIT], algorithm: ALGORITHMS[algorithm], ...delays });
    const untilMs = performance.now() + RUN_MS;
    await saturate(simulated, { limits: [LIMIT], connection, isOver: () => performance.now() >= untilMs });
    expectWithinLimits(simulated);
    const used = usedPart(simulated, LIMIT);
    process.stdout.write(`limits: ${algorithm}: ${(used * 100).toFixed(0)}% of the share used\n`);
    expect(used).toBeGreaterThan(LEAST_USED);
  },
);
