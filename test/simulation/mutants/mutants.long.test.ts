import { expect, test } from "vitest";

import { scenarioOf } from "../generate/generate.ts";
import { MUTANTS, type Mutant } from "./mutants.ts";
import { shrink } from "../generate/shrink.ts";
import { simulate } from "../simulate.ts";
import { tell } from "../story/tell.ts";
import type { ViolationKind } from "../judge/violation.ts";

const HOURS = 0.15;
const MOST_SEEDS = 80;

/** What the simulation says of a mutant first, and how many worlds it took. */
async function caught(
  mutant: Mutant,
  from: string,
): Promise<{ kind: ViolationKind | undefined; seed: string }> {
  for (let number = 1; number <= MOST_SEEDS; number += 1) {
    const seed = `${from} ${number}`;
    const { violation } = await simulate(scenarioOf(seed, HOURS * 3_600_000, mutant.tempers), mutant);
    if (violation !== undefined) return { kind: violation.kind, seed };
  }
  return { kind: undefined, seed: `${MOST_SEEDS} seeds from "${from}"` };
}

test.each(MUTANTS)("it is noticed, wherever one begins to look, that $name", async (mutant) => {
  for (const from of ["here", "there"]) {
    const { kind, seed } = await caught(mutant, from);
    expect(mutant.caughtAs.map((each) => `${each} by ${seed}`)).toContain(`${kind} by ${seed}`);
  }
});

test("what is left of a violation is its story, and it can be told again", async () => {
  const mutant = MUTANTS.find(({ name }) => name === "a budget is fresh once it was renamed");
  if (mutant === undefined) throw new Error("there is no such mutant");
  const { seed } = await caught(mutant, "story");
  const scenario = scenarioOf(seed, HOURS * 3_600_000, mutant.tempers);
  const shortest = await shrink(scenario, "limit", mutant);
  expect(shortest.happenings.length).toBeLessThan(scenario.happenings.length);
  const { lines, outcome } = await tell(shortest, mutant, false);
  expect(outcome.violation?.kind).toBe("limit");
  expect(lines.some((line) => line.includes("reload: the budget of"))).toBe(true);
  expect(lines.at(-1)).toContain("VIOLATION (limit)");
  expect((await tell(shortest, mutant, false)).lines).toEqual(lines);
});
