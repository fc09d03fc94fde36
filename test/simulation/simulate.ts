import type { Scenario } from "./world/scenario.ts";
import type { StoryListener } from "./story/story.ts";
import type { Violation } from "./judge/violation.ts";
import { World } from "./world/world.ts";

export type Outcome = {
  readonly violation: Violation | undefined;
  readonly polls: number;
  readonly lives: number;
  readonly virtualMs: number;
  /** The same for two runs that sent the same requests at the same moments. */
  readonly fingerprint: number;
};

export async function simulate(scenario: Scenario, listener?: StoryListener): Promise<Outcome> {
  const world = new World(scenario, listener);
  await world.run();
  const { violation, lives, traffic, clock } = world;
  const { requests: polls, fingerprint } = traffic;
  return { violation, polls, lives, virtualMs: clock.now(), fingerprint };
}
