import { setTimeout as sleep } from "node:timers/promises";
import type { Fleet } from "../../test/support/fleet/fleet.ts";
import { monotonicMs } from "../../test/support/fleet/monotonic.ts";
import { openScene, type Scene } from "../../test/support/fleet/scene.ts";
import { limitFaults } from "../../test/support/fleet/limit-judge.ts";
import { say } from "./say.ts";

const REPLICAS = ["r1", "r2", "r3"] as const;
const WINDOW_MS = 10_000;
const REQUESTS = 40;

const SCENE: Scene = {
  mode: "shard",
  replicas: REPLICAS,
  ttlMs: 5_000,
  periodMs: 2_000,
  windowMs: WINDOW_MS,
  timeoutMs: 2_000,
  lingerMs: 1_000,
  isScraped: false,
  // As much is allowed as is used: any poll of two versions at a time is one too many.
  budgets: Object.fromEntries(
    ["email", "router"].map((name) => [
      name,
      { requests: REQUESTS, upstreams: [1, 2, 3, 4, 5, 6].map((index) => `${name}-${index}`) },
    ]),
  ),
};

/** `older`: the `bin/pacewatch.mjs` of a checkout of a former version. Its replicas are replaced one by one, and then come back. */
export async function tellUpgrade(older: string): Promise<readonly string[]> {
  await using fleet = await openScene(SCENE, { program: older });
  say(`upgrade: three replicas of ${older}`);
  await fleet.allPolled();
  await sleep(2 * WINDOW_MS);
  const steps = [
    ["replaced", undefined, "stop"],
    ["killed, and replaced by the older version again", older, "kill"],
  ] as const;
  for (const [what, program, how] of steps) {
    for (const name of REPLICAS) {
      const beganMs = monotonicMs();
      if (how === "stop") await fleet.replica(name).stop();
      else await fleet.replica(name).kill();
      await fleet.start(name, program);
      await sleep(WINDOW_MS);
      say(`  ${name} is ${what}: ${await busy(fleet, beganMs)}`);
    }
    const sinceMs = monotonicMs();
    await fleet.allPolled(sinceMs);
    say(`  all are polled again ${((monotonicMs() - sinceMs) / 1_000).toFixed(1)} s after the last one`);
    await sleep(2 * WINDOW_MS);
  }
  const seen = await fleet.seen();
  const faults = [...Map.groupBy(seen, ({ budget }) => budget).values()].flatMap((requests) =>
    limitFaults(requests, { requests: REQUESTS, perMs: WINDOW_MS }),
  );
  say(`upgrade: ${seen.length} requests of ${fleet.lives.length} lives`);
  for (const fault of faults) say(`VIOLATION: ${fault}`);
  return faults;
}

async function busy(fleet: Fleet, sinceMs: number): Promise<string> {
  const recent = (await fleet.seen()).filter(({ atMs }) => atMs > sinceMs);
  const lives = [...Map.groupBy(recent, ({ life }) => life)].map(([life, some]) => `${life} ${some.length}`);
  return lives.length === 0 ? "nobody has polled since" : `polls since: ${lives.toSorted().join(", ")}`;
}
