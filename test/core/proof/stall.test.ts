import { expect, test } from "vitest";
import { stallTimes } from "../../../src/core/proof/proof.ts";
import { sampleBudget, sampleConfig, sampleSchedule, sampleUpstream } from "../../support/samples.ts";

const small = { requests: 5, perMs: 1_000, label: "1s" };
const wide = { requests: 100, perMs: 60_000, label: "1m" };

test("a stall is three periods and a minute, beyond what a new budget on which the upstream draws would wait", () => {
  const quick = sampleUpstream({
    name: "quick",
    budgets: ["a"],
    timeoutMs: 2_000,
    schedule: sampleSchedule(5_000),
  });
  const both = sampleUpstream({
    name: "both",
    budgets: ["a", "b"],
    timeoutMs: 10_000,
    schedule: sampleSchedule(15_000),
  });
  const after = stallTimes(
    sampleConfig({
      budgets: [
        sampleBudget({ name: "a", rates: [small], lingerMs: 0 }),
        sampleBudget({ name: "b", rates: [small, wide], lingerMs: 4_000 }),
      ],
      upstreams: [quick, both],
    }),
  );
  expect(after(quick)).toBe(3 * 5_000 + 1_000 + 10_000 + 60_000);
  expect(after(both)).toBe(3 * 15_000 + 60_000 + 4_000 + 10_000 + 60_000);
});

test("a stall is a whole number of seconds", () => {
  const upstream = sampleUpstream({ timeoutMs: 1_500 });
  expect(stallTimes(sampleConfig({ upstreams: [upstream] }))(upstream) % 1_000).toBe(0);
});
