import { fleetScenarioOf } from "../fleet/generate/generate.ts";
import { shrinkFleet } from "../fleet/shrink.ts";
import { simulateFleet } from "../fleet/simulate.ts";
import { tellFleet } from "../fleet/tell.ts";
import { FLEET_MUTANTS } from "../fleet/mutants.ts";
import { UNCHANGED_FLEET } from "../fleet/mutation.ts";
import { scenarioOf } from "../generate/generate.ts";
import { MUTANTS } from "../mutants/mutants.ts";
import { UNCHANGED } from "../mutants/mutation.ts";
import { shrink } from "../generate/shrink.ts";
import { simulate, type Outcome } from "../simulate.ts";
import { tell, type Telling } from "../story/tell.ts";

/** What kind of world it is: one process, or a fleet of them. */
export type WorldKind = { readonly isFleet: boolean; readonly mutant: string | undefined };

/** Runs the world of a seed. */
export function runWorld(seed: string, hours: number, { isFleet, mutant }: WorldKind): Promise<Outcome> {
  const lengthMs = hours * 3_600_000;
  if (isFleet) return simulateFleet(fleetScenarioOf(seed, lengthMs), fleetMutation(mutant));
  return simulate(scenarioOf(seed, lengthMs), mutation(mutant));
}

/** Its story; where it has a violation, the shortest one. */
export async function tellWorld(
  seed: string,
  hours: number,
  { isFleet, mutant }: WorldKind,
  allRequests: boolean,
): Promise<Telling> {
  const lengthMs = hours * 3_600_000;
  const { violation } = await runWorld(seed, hours, { isFleet, mutant });
  if (isFleet) {
    const [scenario, fault] = [fleetScenarioOf(seed, lengthMs), fleetMutation(mutant)];
    const shortest = violation === undefined ? scenario : await shrinkFleet(scenario, violation.kind, fault);
    return tellFleet(shortest, fault, allRequests);
  }
  const [scenario, fault] = [scenarioOf(seed, lengthMs), mutation(mutant)];
  const shortest = violation === undefined ? scenario : await shrink(scenario, violation.kind, fault);
  return tell(shortest, fault, allRequests);
}

export function mutantsOf(isFleet: boolean): readonly string[] {
  return (isFleet ? FLEET_MUTANTS : MUTANTS).map(({ name }) => name);
}

function mutation(name: string | undefined): typeof UNCHANGED {
  return MUTANTS.find((mutant) => mutant.name === name) ?? UNCHANGED;
}

function fleetMutation(name: string | undefined): typeof UNCHANGED_FLEET {
  return FLEET_MUTANTS.find((mutant) => mutant.name === name) ?? UNCHANGED_FLEET;
}
