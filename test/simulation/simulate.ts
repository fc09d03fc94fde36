import { UNCHANGED, type Mutation } from "./mutation.ts";
import type { Scenario } from "./scenario.ts";
import type { StoryListener } from "./story.ts";
import type { Violation } from "./violation.ts";
import { World } from "./world.ts";

export type Outcome = {
  readonly violation: Violation | undefined;
  readonly polls: number;
  readonly lives: number;
  readonly virtualMs: number;
  /** The same for two runs that sent the same requests at the same moments. */
  readonly fingerprint: number;
};

export async function simulate(
  scenario: Scenario,
  mutation: Mutation = UNCHANGED,
  listener?: StoryListener,
): Promise<Outcome> {
  const world = new World(scenario, mutation, listener);
  await world.run();
  const { violation, lives, traffic, clock } = world;
  const { requests: polls, fingerprint } = traffic;
  return { violation, polls, lives, virtualMs: clock.now(), fingerprint };
}
