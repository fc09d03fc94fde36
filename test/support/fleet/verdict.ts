import { logFaults, scrapeFaults } from "./account-judge.ts";
import type { Fleet } from "./fleet.ts";
import { holderFaults } from "./holder-judge.ts";
import { busiestWindows, limitFaults } from "./limit-judge.ts";
import type { Scene } from "./scene.ts";

/** Whatever happened to a fleet: what must hold of it, by the witness's own clock. */
export type Verdict = {
  readonly summary: string;
  /** One sentence for each promise that was broken. */
  readonly faults: readonly string[];
};

/** It ends all replicas: their logs are read whole. */
export async function judgeFleet(fleet: Fleet, scene: Scene): Promise<Verdict> {
  const exits: string[] = [];
  for (const replica of fleet.current) {
    const code = replica.hasEnded ? 0 : await replica.stop();
    if (code !== 0) exits.push(`${replica.life}: ended with ${code}`);
  }
  const seen = await fleet.seen();
  const scrapes = fleet.lives.flatMap((replica) => replica.scrapes);
  const allowed = (budget: string): number => scene.budgets[budget]?.requests ?? 0;
  const limits = [...Map.groupBy(seen, ({ budget }) => budget)].flatMap(([budget, requests]) =>
    limitFaults(requests, { requests: allowed(budget), perMs: scene.windowMs }),
  );
  const busiest = [...busiestWindows(seen, scene.windowMs)].map(
    ([budget, requests]) => `${budget} ${requests} of ${allowed(budget)}`,
  );
  return {
    summary:
      `${seen.length} requests of ${fleet.lives.length} lives; ` +
      `in any ${scene.windowMs / 1_000} s at most ${busiest.join(", ")}; ${scrapes.length} scrapes`,
    faults: [
      ...exits,
      ...limits,
      ...holderFaults(seen, scene.periodMs),
      ...scrapeFaults(seen, scrapes),
      ...logFaults(
        seen,
        fleet.lives.map((replica) => replica.logged()),
      ),
    ],
  };
}
