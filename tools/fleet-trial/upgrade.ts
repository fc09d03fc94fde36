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

/** `older`: the `bin/pacewatch.mjs` of a checkout of a former version. Its replicas are replaced one by one; then it comes back. */
export async function tellUpgrade(older: string): Promise<readonly string[]> {
  await using fleet = await openScene(SCENE, { program: older });
  say(`upgrade: three replicas of ${older}`);
  await fleet.allPolled();
  await sleep(2 * WINDOW_MS);
  for (const name of REPLICAS) {
    const beganMs = monotonicMs();
    await fleet.replica(name).stop();
    await fleet.start(name);
    await sleep(WINDOW_MS);
    say(`  ${name} is replaced: ${await busy(fleet, beganMs)}`);
  }
  const replacedMs = monotonicMs();
  await fleet.allPolled(replacedMs);
  say(`  all are polled again ${inSeconds(monotonicMs() - replacedMs)} after that`);
  await sleep(2 * WINDOW_MS);
  // Back again, as the docs say: the older version knows nothing of this one, so all are stopped first.
  await Promise.all(REPLICAS.map((name) => fleet.replica(name).stop()));
  await Promise.all(REPLICAS.map((name) => fleet.start(name, older)));
  const backMs = monotonicMs();
  await fleet.allPolled(backMs);
  say(
    `  all were stopped and are the older version again: polled after ${inSeconds(monotonicMs() - backMs)}`,
  );
  await sleep(2 * WINDOW_MS);
  const seen = await fleet.seen();
  const faults = [...Map.groupBy(seen, ({ budget }) => budget).values()].flatMap((requests) =>
    limitFaults(requests, { requests: REQUESTS, perMs: WINDOW_MS }),
  );
  say(`upgrade: ${seen.length} requests of ${fleet.lives.length} lives`);
  for (const fault of faults) say(`VIOLATION: ${fault}`);
  return faults;
}

function inSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

async function busy(fleet: Fleet, sinceMs: number): Promise<string> {
  const recent = (await fleet.seen()).filter(({ atMs }) => atMs > sinceMs);
  const lives = [...Map.groupBy(recent, ({ life }) => life)].map(([life, some]) => `${life} ${some.length}`);
  return lives.length === 0 ? "nobody has polled since" : `polls since: ${lives.toSorted().join(", ")}`;
}
