import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { type Fleet } from "../../test/support/fleet/fleet.ts";
import { monotonicMs } from "../../test/support/fleet/monotonic.ts";
import { type Scene, openScene } from "../../test/support/fleet/scene.ts";
import { judgeFleet } from "../../test/support/fleet/verdict.ts";
import { say } from "./say.ts";

const BUDGETS = 5;
const UPSTREAMS_PER_BUDGET = 1_000;
const WITHIN_MS = 15_000;
const LOOK_EVERY_MS = 250;

const FleetAnswer = z.object({
  upstreams: z.array(z.object({ name: z.string(), holder: z.string().optional() })),
});

/** 5,000 upstreams, and one of three replicas dies: how long until others hold all that it held. */
export async function tellRebalance(): Promise<readonly string[]> {
  const names = Array.from({ length: BUDGETS }, (_, index) => `b${index}`);
  const scene: Scene = {
    mode: "shard",
    replicas: ["r1", "r2", "r3"],
    ttlMs: 10_000,
    periodMs: 60_000,
    windowMs: 10_000,
    timeoutMs: 2_000,
    lingerMs: 0,
    // A scrape of thousands of upstreams takes the processor that all of this runs on.
    isScraped: false,
    budgets: Object.fromEntries(
      names.map((name) => [
        name,
        {
          requests: 1_500,
          upstreams: Array.from({ length: UPSTREAMS_PER_BUDGET }, (_, index) => `${name}-${index}`),
        },
      ]),
    ),
  };
  await using fleet = await openScene(scene);
  say(`rebalance: ${fleet.upstreams.length} upstreams, three replicas, ttl 10 s`);
  await heldBy(fleet, ["r1", "r2", "r3"]);
  await sleep(scene.periodMs);
  await fleet.allPolled(0);
  say(`  all are held and polled: ${await balance(fleet)}`);
  await fleet.replica("r1").kill();
  const killedAtMs = monotonicMs();
  await heldBy(fleet, ["r2", "r3"]);
  const tookMs = monotonicMs() - killedAtMs;
  say(
    `  r1 was killed, and all are held again after ${(tookMs / 1_000).toFixed(1)} s: ${await balance(fleet)}`,
  );
  await fleet.start("r1");
  const startedAtMs = monotonicMs();
  await heldBy(fleet, ["r1", "r2", "r3"]);
  const backMs = monotonicMs() - startedAtMs;
  say(
    `  r1 was started again, and has its part after ${(backMs / 1_000).toFixed(1)} s: ${await balance(fleet)}`,
  );
  await sleep(scene.periodMs);
  await fleet.allPolled(killedAtMs);
  const { summary, faults } = await judgeFleet(fleet, scene);
  say(`rebalance: ${summary}`);
  const late = tookMs > WITHIN_MS ? [`rebalanced after ${tookMs.toFixed(0)} ms, of ${WITHIN_MS}`] : [];
  for (const fault of [...faults, ...late]) say(`VIOLATION: ${fault}`);
  return [...faults, ...late];
}

/** By what the last of them says of the whole fleet: all upstreams are held, by just these replicas. */
async function heldBy(fleet: Fleet, replicas: readonly string[]): Promise<void> {
  for (;;) {
    const holders = await holdersOf(fleet);
    const isWhole = [...holders.values()].reduce((sum, held) => sum + held, 0) === fleet.upstreams.length;
    if (isWhole && [...holders.keys()].toSorted().join() === replicas.join()) return;
    await sleep(LOOK_EVERY_MS);
  }
}

async function balance(fleet: Fleet): Promise<string> {
  const holders = [...(await holdersOf(fleet))].toSorted(([a], [b]) => a.localeCompare(b));
  return holders.map(([name, held]) => `${name} ${held}`).join(", ");
}

async function holdersOf(fleet: Fleet): Promise<ReadonlyMap<string, number>> {
  const { body } = await fleet.replica("r3").daemon.get("/api/v1/fleet");
  const { upstreams } = FleetAnswer.parse(JSON.parse(body));
  const held = Map.groupBy(upstreams, ({ holder }) => holder);
  return new Map(
    [...held].flatMap(([holder, some]) => (holder === undefined ? [] : [[holder, some.length]])),
  );
}
