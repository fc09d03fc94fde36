import { expect, test } from "vitest";

import type { ViolationKind } from "../judge/violation.ts";
import { fleetScenarioOf } from "./generate/generate.ts";
import { shrinkFleet } from "./shrink.ts";
import { simulateFleet } from "./simulate.ts";
import { tellFleet } from "./tell.ts";
import { FLEET_MUTANTS, type FleetMutant } from "./mutants.ts";

const LENGTH_MS = 300_000;
const MOST_SEEDS = 60;

/** What the simulation says of a mutant first, and how many worlds it took. */
async function caught(
  mutant: FleetMutant,
  from: string,
): Promise<{ kind: ViolationKind | undefined; seed: string }> {
  for (let number = 1; number <= MOST_SEEDS; number += 1) {
    const seed = `${from} ${number}`;
    const { violation } = await simulateFleet(fleetScenarioOf(seed, LENGTH_MS, mutant.bias), mutant);
    if (violation !== undefined) return { kind: violation.kind, seed };
  }
  return { kind: undefined, seed: `${MOST_SEEDS} seeds from "${from}"` };
}

test.each(FLEET_MUTANTS)("it is noticed, wherever one begins to look, that $name", async (mutant) => {
  for (const from of ["here", "there"]) {
    const { kind, seed } = await caught(mutant, from);
    expect(mutant.caughtAs.map((each) => `${each} by ${seed}`)).toContain(`${kind} by ${seed}`);
  }
});

test("what is left of a fleet's violation is its story, and it can be told again", async () => {
  const mutant = FLEET_MUTANTS.find(({ name }) => name.startsWith("claims are accepted at once"));
  if (mutant === undefined) throw new Error("there is no such mutant");
  const { seed } = await caught(mutant, "story");
  const scenario = fleetScenarioOf(seed, LENGTH_MS, mutant.bias);
  const shortest = await shrinkFleet(scenario, "twice", mutant);
  expect(shortest.happenings.length).toBeLessThan(scenario.happenings.length);
  const { lines, outcome } = await tellFleet(shortest, mutant, false);
  expect(outcome.violation?.kind).toBe("twice");
  expect(lines.at(-1)).toContain("sends");
  expect(lines.some((line) => line.includes("VIOLATION (twice)"))).toBe(true);
  expect((await tellFleet(shortest, mutant, false)).lines).toEqual(lines);
});
