import { setTimeout as sleep } from "node:timers/promises";
import type { Fleet } from "../../test/support/fleet/fleet.ts";
import { handoversOf, unusedSlots } from "../../test/support/fleet/holder-judge.ts";
import { monotonicMs } from "../../test/support/fleet/monotonic.ts";
import { type Scene, openScene } from "../../test/support/fleet/scene.ts";
import { judgeFleet } from "../../test/support/fleet/verdict.ts";
import { say } from "./say.ts";

const AWAY_MS = 20_000;
const REPLICAS = ["r1", "r2", "r3"] as const;

type Accident = { readonly what: string; readonly happen: (fleet: Fleet) => Promise<void> };

const ACCIDENTS: readonly Accident[] = [
  {
    what: "r1 is killed, and started again after 20 s",
    happen: async (fleet) => {
      await fleet.replica("r1").kill();
      await sleep(AWAY_MS);
      await fleet.start("r1");
    },
  },
  {
    what: "r2 is stopped for 20 s, and goes on",
    happen: async (fleet) => {
      fleet.replica("r2").freeze();
      await sleep(AWAY_MS);
      fleet.replica("r2").thaw();
    },
  },
  {
    what: "Redis is restarted empty",
    happen: (fleet) => fleet.redis.restart(),
  },
  {
    what: "Redis is stopped for 20 s",
    happen: async (fleet) => {
      fleet.redis.halt();
      await sleep(AWAY_MS);
      fleet.redis.resume();
    },
  },
  {
    what: "Redis is killed, and comes back empty after 20 s",
    happen: async (fleet) => {
      await fleet.redis.stop();
      await sleep(AWAY_MS);
      await fleet.redis.restart();
    },
  },
  {
    what: "r3 alone is cut off from Redis for 20 s: nothing arrives, until all does",
    happen: async (fleet) => {
      fleet.wayOf("r3").cut("drop");
      await sleep(AWAY_MS);
      fleet.wayOf("r3").mend();
    },
  },
  {
    what: "r1 alone is cut off from Redis for 20 s: whatever connects is reset",
    happen: async (fleet) => {
      fleet.wayOf("r1").cut("reset");
      await sleep(AWAY_MS);
      fleet.wayOf("r1").mend();
    },
  },
  {
    what: "r3 crashes again and again: ten lives of 4 s, and no other",
    happen: async (fleet) => {
      for (let life = 0; life < 10; life += 1) {
        await fleet.replica("r3").kill();
        await fleet.start("r3");
        await sleep(4_000);
      }
      await fleet.replica("r3").kill();
    },
  },
];

function sceneOf(mode: Scene["mode"]): Scene {
  // Of each 40, six are set aside: what is asked for are 30 of the other 34.
  const perBudget = mode === "shard" ? 6 : 2;
  const budgets = ["email", "router", "search"].map((name) => [
    name,
    { requests: 40, upstreams: Array.from({ length: perBudget }, (_, index) => `${name}-${index + 1}`) },
  ]);
  return {
    mode,
    replicas: REPLICAS,
    ttlMs: 10_000,
    periodMs: 2_000,
    windowMs: 10_000,
    timeoutMs: 2_000,
    lingerMs: 1_000,
    isScraped: true,
    budgets: Object.fromEntries(budgets),
  };
}

/** All that can happen to a fleet, one after the other, with the ttl that it has by itself. */
export async function tellAccidents(mode: Scene["mode"]): Promise<readonly string[]> {
  const scene = sceneOf(mode);
  await using fleet = await openScene(scene);
  say(`${mode}: three replicas, ${fleet.upstreams.length} upstreams every ${scene.periodMs / 1_000} s`);
  await recovered(fleet, mode);
  for (const { what, happen } of ACCIDENTS) {
    const fromMs = monotonicMs();
    say(what);
    await happen(fleet);
    const overMs = monotonicMs();
    await recovered(fleet, mode);
    await tellWhatWasSeen(fleet, scene, fromMs, overMs);
  }
  const { summary, faults } = await judgeFleet(fleet, scene);
  say(`${mode}: ${summary}`);
  for (const fault of faults) say(`VIOLATION: ${fault}`);
  return faults;
}

async function recovered(fleet: Fleet, mode: Scene["mode"]): Promise<void> {
  if (mode === "shard") await fleet.settled();
  const sinceMs = monotonicMs();
  if (mode === "shard") return fleet.allPolled(sinceMs);
  for (const { life } of fleet.current) await fleet.allPolled(sinceMs, (request) => request.life === life);
}

async function tellWhatWasSeen(fleet: Fleet, scene: Scene, fromMs: number, overMs: number): Promise<void> {
  const all = await fleet.seen();
  const seen = all.filter(({ atMs }) => atMs > fromMs);
  const meanwhile = seen.filter(({ atMs }) => atMs < overMs).length;
  const inSeconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  const silences = fleet.upstreams.map((upstream) => {
    const moments = seen.filter((request) => request.upstream === upstream).map(({ atMs }) => atMs);
    return Math.max(...moments.map((atMs, index) => atMs - (moments[index - 1] ?? fromMs)));
  });
  const unused = handoversOf(all)
    .filter(({ firstMs }) => firstMs > fromMs)
    .map((handover) => unusedSlots(handover, scene.periodMs));
  const moves =
    scene.mode === "shard" ? `; ${unused.length} moves, at most ${Math.max(0, ...unused)} slots unused` : "";
  say(
    `  over after ${inSeconds(overMs - fromMs)}, all polled again ${inSeconds(monotonicMs() - overMs)} later; ` +
      `${meanwhile} requests meanwhile; longest silence of an upstream ${inSeconds(Math.max(...silences))}${moves}`,
  );
}
