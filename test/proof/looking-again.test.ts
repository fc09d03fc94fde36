import { expect, test } from "vitest";
import { prove } from "../../src/proof/proof.ts";
import type { Budget, Upstream } from "../../src/kernel/config/config.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/kernel/time/duration.ts";
import { sampleBudget, sampleCron, sampleSchedule, sampleUpstream } from "../support/kernel-samples.ts";
import { SAMPLE_PRICE } from "../support/samples.ts";
import { PROOF_PARTS } from "../../src/app/features/proof.ts";

/** Two requests are 5 s apart. */
const BUDGET = sampleBudget({ share: 0.2 });

function looksOf(changes: Partial<Upstream>, budget: Partial<Budget> = {}): number | undefined {
  const upstream = sampleUpstream({ schedule: sampleSchedule(10 * MINUTE_MS), ...changes });
  const config = { budgets: [{ ...BUDGET, ...budget }], upstreams: [upstream] };
  return prove(config, PROOF_PARTS).looksAgain.get(upstream.name);
}

test("a long period has place for looks at growing distances, that end before the next slot", () => {
  expect(looksOf({})).toBe(16);
  expect(looksOf({ schedule: sampleSchedule(MINUTE_MS) })).toBe(4);
  expect(looksOf({ schedule: sampleSchedule(MINUTE_MS), timeoutMs: 45_000 })).toBe(1);
  expect(looksOf({ schedule: sampleSchedule(15_000) })).toBeUndefined();
});

test.each([
  ["what is not safe", { method: "POST" } as const],
  ["what costs money", { price: SAMPLE_PRICE }],
  ["what is polled by a calendar", { schedule: sampleCron("*/10 8-17 * * *") }],
])("%s is looked at by its schedule alone", (_, changes) => {
  expect(looksOf(changes)).toBeUndefined();
});

test("of a quota nothing is taken", () => {
  const quota = { most: 1_000_000, perMs: 24 * HOUR_MS, onExhaust: "stop" } as const;
  expect(looksOf({}, { quota })).toBeUndefined();
});

test("there are as many as fit beside every slot and every confirmation, and none where those fill the limit", () => {
  const often = (count: number): readonly Upstream[] =>
    Array.from({ length: count }, (_, place) => sampleUpstream({ name: `often-${place}` }));
  const seldom = sampleUpstream({ name: "seldom", schedule: sampleSchedule(10 * MINUTE_MS) });
  const looks = (others: number): number =>
    prove({ budgets: [sampleBudget()], upstreams: [...often(others), seldom] }, PROOF_PARTS).looksAgain.get(
      "seldom",
    ) ?? 0;
  // 60 a minute: each of the others asks for eight of them.
  const found = [0, 3, 6, 7].map(looks);
  expect(found).toEqual(found.toSorted((one, other) => other - one));
  expect(found[0]).toBe(16);
  expect(looks(8)).toBe(0);
});
