import * as fc from "fast-check";
import { expect, test } from "vitest";

import { prove } from "../../src/proof/proof.ts";
import { slotsOf } from "../../src/kernel/schedule/schedule.ts";
import { ALGORITHM_NAMES } from "../support/algorithms.ts";
import { sampleBudget, sampleSchedule, sampleUpstream } from "../support/kernel-samples.ts";
import type { Scenario } from "./world/scenario.ts";
import { configOf } from "./world/setup.ts";
import { simulate } from "./simulate.ts";
import { PROOF_PARTS } from "../../src/app/features/proof.ts";

const seconds = (...values: readonly number[]): fc.Arbitrary<number> =>
  fc.constantFrom(...values.map((s) => s * 1_000));

const upstreams = fc.array(
  fc.record({
    periodMs: seconds(1, 1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30),
    confirm: fc.constantFrom(0, 0, 1, 2),
    timeoutPart: fc.constantFrom(0.2, 0.5, 1),
  }),
  { minLength: 1, maxLength: 8 },
);

/** Any numbers: most do not fit. What just about has room for every slot. What serves them if they take turns. */
const limit = fc.oneof(
  fc.record({ requests: fc.integer({ min: 1, max: 400 }), kind: fc.constant("any" as const) }),
  fc.record({ requests: fc.integer({ min: 0, max: 3 }), kind: fc.constant("room" as const) }),
  fc.record({ requests: fc.integer({ min: 0, max: 1 }), kind: fc.constant("turns" as const) }),
);

const plans = fc
  .record({
    upstreams,
    windows: fc.uniqueArray(seconds(1, 2, 4, 7, 10, 30, 60), { minLength: 1, maxLength: 3 }),
    limits: fc.tuple(limit, limit, limit),
    share: fc.constantFrom(0.01, 0.2, 0.5, 0.8, 1, 1),
    algorithm: fc.constantFrom(...ALGORITHM_NAMES),
    windowStartMs: fc.integer({ min: 0, max: 60_000 }),
    seed: fc.integer(),
  })
  .map((plan): Scenario => {
    const drawn = plan.upstreams.map(({ periodMs, confirm, timeoutPart }, index) => {
      const name = `api-${index}`;
      const schedule = sampleSchedule(periodMs, name);
      return sampleUpstream({ name, schedule, confirm, timeoutMs: periodMs * timeoutPart });
    });
    const rates = plan.windows.map((perMs, index) => {
      const { requests, kind } = plan.limits[index] ?? plan.limits[0];
      const demand = drawn.reduce(
        (sum, each) => sum + slotsOf(each.schedule).mostWithin(perMs) * (1 + each.confirm),
        0,
      );
      const onAverage = drawn.reduce(
        (sum, each) => sum + (perMs / each.schedule.longestGapMs) * (1 + each.confirm),
        0,
      );
      const least = {
        any: 0,
        room: Math.ceil(demand / plan.share - 1e-9),
        turns: Math.ceil(Math.ceil(onAverage * 1.01) / plan.share - 1e-9),
      };
      return { requests: least[kind] + requests, perMs, label: `${perMs}ms` };
    });
    const budget = sampleBudget({ rates, share: plan.share, maxPauseMs: 1_000 });
    return {
      seed: String(plan.seed),
      credentials: [{ id: "K", algorithm: plan.algorithm, windowStartMs: plan.windowStartMs, clockRate: 1 }],
      setup: { accounts: [{ credential: "K", budget }], upstreams: drawn },
      roads: new Map(),
      lagMs: 0,
      happenings: [],
      lengthMs: 0,
    };
  });

test("whatever the proof accepts fits: no limit is broken, and nine slots of ten are used, of every upstream", async () => {
  let accepted = 0;
  let inTurn = 0;
  await fc.assert(
    fc.asyncProperty(plans, async (scenario) => {
      const { faults, budgets } = prove(configOf(scenario.setup), PROOF_PARTS);
      fc.pre(faults.length === 0);
      accepted += 1;
      if (budgets.some(({ turns }) => turns !== undefined)) inTurn += 1;
      const { violation } = await simulate(scenario);
      expect(violation?.text).toBeUndefined();
    }),
    { seed: 20261121, numRuns: 90 },
  );
  expect(accepted).toBe(90);
  expect(inTurn).toBeGreaterThan(5);
});
