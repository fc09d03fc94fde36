import { fleetScenarioOf } from "../fleet/generate/generate.ts";
import { shrinkFleet } from "../fleet/shrink.ts";
import { simulateFleet } from "../fleet/simulate.ts";
import { tellFleet } from "../fleet/tell.ts";
import { scenarioOf } from "../generate/generate.ts";
import { shrink } from "../generate/shrink.ts";
import { simulate, type Outcome } from "../simulate.ts";
import { tell, type Telling } from "../story/tell.ts";

/** What kind of world it is: one process, or a fleet of them. */
export type WorldKind = { readonly isFleet: boolean };

/** Runs the world of a seed. */
export function runWorld(seed: string, hours: number, { isFleet }: WorldKind): Promise<Outcome> {
  const lengthMs = hours * 3_600_000;
  return isFleet ? simulateFleet(fleetScenarioOf(seed, lengthMs)) : simulate(scenarioOf(seed, lengthMs));
}

/** Its story; where it has a violation, the shortest one. */
export async function tellWorld(
  seed: string,
  hours: number,
  kind: WorldKind,
  allRequests: boolean,
): Promise<Telling> {
  const lengthMs = hours * 3_600_000;
  const { violation } = await runWorld(seed, hours, kind);
  if (kind.isFleet) {
    const scenario = fleetScenarioOf(seed, lengthMs);
    return tellFleet(
      violation === undefined ? scenario : await shrinkFleet(scenario, violation.kind),
      allRequests,
    );
  }
  const scenario = scenarioOf(seed, lengthMs);
  return tell(violation === undefined ? scenario : await shrink(scenario, violation.kind), allRequests);
}
