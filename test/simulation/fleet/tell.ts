import { abridged, type Line, type Telling } from "../story/tell.ts";
import { simulateFleet } from "./simulate.ts";
import type { FleetScenario } from "./scenario.ts";
import { describeFleet } from "./wording.ts";

export async function tellFleet(scenario: FleetScenario, allRequests: boolean): Promise<Telling> {
  const story: Line[] = [];
  const outcome = await simulateFleet(scenario, (detail, text) => void story.push({ detail, text }));
  return { lines: [...describeFleet(scenario), ...abridged(story, outcome, allRequests)], outcome };
}
