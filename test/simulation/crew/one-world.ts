import { scenarioOf } from "../generate/generate.ts";
import { shrink } from "../generate/shrink.ts";
import { simulate, type Outcome } from "../simulate.ts";
import { tell, type Telling } from "../story/tell.ts";

/** Runs the world of a seed. */
export function runWorld(seed: string, hours: number): Promise<Outcome> {
  return simulate(scenarioOf(seed, hours * 3_600_000));
}

/** Its story; where it has a violation, the shortest one. */
export async function tellWorld(seed: string, hours: number, allRequests: boolean): Promise<Telling> {
  const { violation } = await runWorld(seed, hours);
  const scenario = scenarioOf(seed, hours * 3_600_000);
  return tell(violation === undefined ? scenario : await shrink(scenario, violation.kind), allRequests);
}
