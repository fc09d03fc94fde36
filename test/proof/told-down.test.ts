import { expect, test } from "vitest";
import { toldDownTable } from "../../src/commands/proof-table.ts";
import { prove } from "../../src/proof/proof.ts";
import { toldDown } from "../../src/proof/told-down.ts";
import { sampleBudget, sampleSchedule, sampleUpstream } from "../support/kernel-samples.ts";
import { PROOF_PARTS } from "../../src/app/features/proof.ts";

const BUDGET = sampleBudget({ rates: [{ requests: 60, perMs: 60_000, label: "1m" }], share: 0.2 });

/** Every 15 s, with a timeout of 10 s; two requests are 5 s apart. */
test.each([
  ["the first failure is enough", 0, 10_000, 0, 25_000],
  ["a confirmation that comes as soon as the pace allows", 1, 0, 5_000, 40_000],
  ["a failure that must last", 1, 10_000, 10_000, 40_000],
  ["one that must last long", 1, 60_000, 60_000, 85_000],
  ["several confirmations", 3, 10_000, 15_000, 70_000],
])(
  "an outage is known after the first poll and those that confirm it: %s",
  (_, confirm, overMs, earliest, latest) => {
    const upstream = sampleUpstream({ confirm, confirmOverMs: overMs, timeoutMs: 10_000 });
    const config = { budgets: [BUDGET], upstreams: [upstream] };
    const told = toldDown(config, prove(config, PROOF_PARTS));
    const known = { earliestMs: earliest, latestMs: latest, looksAgain: 0, overWithinMs: 15_000 };
    expect(told).toEqual([{ upstream: upstream.name, ...known }]);
  },
);

test("its end is known by the next slot, and of a slow schedule by looks between its slots", () => {
  const upstream = sampleUpstream({ schedule: sampleSchedule(600_000) });
  const config = { budgets: [BUDGET], upstreams: [upstream] };
  const [told] = toldDown(config, prove(config, PROOF_PARTS));
  expect(told).toMatchObject({ looksAgain: 16, overWithinMs: 600_000 });
  expect(told === undefined ? "" : toldDownTable([told])).toContain(
    "10m, sooner by 16 looks between two slots  email",
  );
});
