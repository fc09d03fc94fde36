import type { Outcome } from "../simulate.ts";
import type { StoryListener } from "../story/story.ts";
import { FleetWorld } from "./world.ts";
import type { FleetScenario } from "./scenario.ts";

export async function simulateFleet(scenario: FleetScenario, listener?: StoryListener): Promise<Outcome> {
  const world = new FleetWorld(scenario, { listener });
  await world.run();
  const { violation, lives, traffic, clock } = world;
  const { requests: polls, fingerprint } = traffic;
  return { violation, polls, lives: lives.length, virtualMs: clock.now(), fingerprint };
}
