import { setTimeout as sleep } from "node:timers/promises";
import type { Fleet } from "../../test/support/fleet/fleet.ts";
import { handoversOf, unusedSlots } from "../../test/support/fleet/holder-judge.ts";
import { monotonicMs } from "../../test/support/fleet/monotonic.ts";
import { type Scene, openScene } from "../../test/support/fleet/scene.ts";
import { judgeFleet } from "../../test/support/fleet/verdict.ts";
import { say } from "./say.ts";

const AWAY_MS = 30_000;
const TTL_MS = 10_000;
const PERIOD_MS = 2_000;
const REPLICAS = ["r1", "r2", "r3"] as const;
/** Its next holder waits for a pace gap alone; that of the others for window, timeout and linger. */
const GENTLE = "email";

type Accident = {
  readonly what: string;
  /** To the one that holds the gentle budget, where it is about one. */
  readonly happen: (fleet: Fleet, victim: string, recover: () => Promise<void>) => Promise<void>;
  /** In `shard`, so long an upstream of the gentle budget may be silent, beside the time between two polls. */
  readonly mostMs: number;
};

const ACCIDENTS: readonly Accident[] = [
  {
    what: "one is killed, and started again after 30 s",
    mostMs: TTL_MS,
    happen: async (fleet, victim) => {
      await fleet.replica(victim).kill();
      await sleep(AWAY_MS);
      await fleet.start(victim);
    },
  },
  {
    what: "one is stopped for 30 s, and goes on",
    mostMs: TTL_MS,
    happen: async (fleet, victim) => {
      fleet.replica(victim).freeze();
      await sleep(AWAY_MS);
      fleet.replica(victim).thaw();
    },
  },
  {
    what: "Redis is restarted empty",
    mostMs: 0,
    happen: async (fleet) => {
      await fleet.redis.restart();
      // Until a new board opens, whoever loses its session by what happens next would wait for that too.
      await sleep(TTL_MS);
    },
  },
  {
    what: "Redis is stopped for 30 s",
    // They stop 0.8 of a ttl after their last beat.
    mostMs: AWAY_MS - 0.6 * TTL_MS + TTL_MS / 2,
    happen: async (fleet) => {
      fleet.redis.halt();
      await sleep(AWAY_MS);
      fleet.redis.resume();
    },
  },
  {
    what: "Redis is killed, and comes back empty after 30 s",
    mostMs: AWAY_MS - 0.6 * TTL_MS + TTL_MS,
    happen: async (fleet) => {
      await fleet.redis.stop();
      await sleep(AWAY_MS);
      await fleet.redis.restart();
    },
  },
  {
    what: "one alone is cut off from Redis for 30 s: nothing arrives, until all does",
    mostMs: TTL_MS,
    happen: async (fleet, victim) => {
      fleet.wayOf(victim).cut("drop");
      await sleep(AWAY_MS);
      fleet.wayOf(victim).mend();
    },
  },
  {
    what: "one's commands reach Redis for 60 s, and no answer comes back",
    mostMs: 2 * TTL_MS,
    happen: async (fleet, victim) => {
      fleet.wayOf(victim).cut("mute");
      await sleep(2 * AWAY_MS);
      fleet.wayOf(victim).mend();
    },
  },
  {
    what: "all connections to Redis are reset every 1.000 s for a minute",
    mostMs: 6_000,
    happen: async (fleet) => {
      const fromMs = monotonicMs();
      for (let second = 1; second <= 60; second += 1) {
        await sleep(fromMs + second * 1_000 - monotonicMs());
        for (const name of REPLICAS) fleet.wayOf(name).cut("reset");
        for (const name of REPLICAS) fleet.wayOf(name).mend();
      }
    },
  },
  {
    what: "one after the other is stopped in order and started again, as by an upgrade",
    mostMs: 4_000,
    happen: async (fleet, _, recover) => {
      for (const name of REPLICAS) {
        await fleet.replica(name).stop();
        await fleet.start(name);
        await recover();
      }
    },
  },
  {
    what: "one alone is cut off from Redis for 30 s: whatever connects is reset",
    mostMs: TTL_MS,
    happen: async (fleet, victim) => {
      fleet.wayOf(victim).cut("reset");
      await sleep(AWAY_MS);
      fleet.wayOf(victim).mend();
    },
  },
  {
    what: "all are killed and started again, and then one crashes again and again: ten lives of 4 s, and no other",
    mostMs: 2 * TTL_MS,
    happen: async (fleet, victim) => {
      await Promise.all(REPLICAS.map((name) => fleet.replica(name).kill()));
      await Promise.all(REPLICAS.map((name) => fleet.start(name)));
      for (let life = 0; life < 10; life += 1) {
        await fleet.replica(victim).kill();
        await fleet.start(victim);
        await sleep(4_000);
      }
      await fleet.replica(victim).kill();
    },
  },
];

function sceneOf(mode: Scene["mode"]): Scene {
  // Each has a cap of 40; asked for are 30, or in `everywhere` 10 by each replica.
  const perBudget = mode === "shard" ? 6 : 2;
  const budgets = [GENTLE, "router", "search"].map((name) => [
    name,
    {
      ...(name === GENTLE ? { requests: 60, share: "67%" } : { requests: 40 }),
      upstreams: Array.from({ length: perBudget }, (_, index) => `${name}-${index + 1}`),
    },
  ]);
  return {
    mode,
    replicas: REPLICAS,
    ttlMs: TTL_MS,
    periodMs: PERIOD_MS,
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
  const late: string[] = [];
  for (const { what, happen, mostMs } of ACCIDENTS) {
    const fromMs = monotonicMs();
    say(what);
    await happen(fleet, holderOf(fleet, GENTLE), () => recovered(fleet, mode));
    const overMs = monotonicMs();
    await recovered(fleet, mode);
    const silentMs = await tellWhatWasSeen(fleet, scene, fromMs, overMs);
    const allowedMs = mostMs + PERIOD_MS + SLACK_MS;
    if (mode === "shard" && silentMs > allowedMs)
      late.push(`${what}: an upstream was silent for ${inSeconds(silentMs)}, of ${inSeconds(allowedMs)}`);
  }
  const { summary, faults } = await judgeFleet(fleet, scene);
  say(`${mode}: ${summary}`);
  for (const fault of [...faults, ...late]) say(`VIOLATION: ${fault}`);
  return [...faults, ...late];
}

/** By their own word; in `everywhere` it is any. */
function holderOf(fleet: Fleet, budget: string): string {
  const replica = fleet.current.find(({ holds }) => holds.some((upstream) => upstream.startsWith(budget)));
  return replica?.life.split(".", 1).join() ?? REPLICAS[0];
}

/** The pace gap, the way of a request, and this machine's other work. */
const SLACK_MS = 2_000;

async function recovered(fleet: Fleet, mode: Scene["mode"]): Promise<void> {
  if (mode === "shard") await fleet.settled();
  const sinceMs = monotonicMs();
  if (mode === "shard") return fleet.allPolled(sinceMs);
  for (const { life, hasEnded } of fleet.current)
    if (!hasEnded) await fleet.allPolled(sinceMs, (request) => request.life === life);
}

/** The longest silence of an upstream of the gentle budget. */
async function tellWhatWasSeen(fleet: Fleet, scene: Scene, fromMs: number, overMs: number): Promise<number> {
  const all = await fleet.seen();
  const seen = all.filter(({ atMs }) => atMs > fromMs);
  const meanwhile = seen.filter(({ atMs }) => atMs < overMs).length;
  const silenceOf = (budget: string): number =>
    Math.max(
      ...fleet.upstreams
        .filter((upstream) => upstream.startsWith(budget))
        .flatMap((upstream) => {
          const moments = seen.filter((request) => request.upstream === upstream).map(({ atMs }) => atMs);
          return moments.map((atMs, index) => atMs - (moments[index - 1] ?? fromMs));
        }),
    );
  const silentMs = silenceOf(GENTLE);
  const unused = handoversOf(all)
    .filter(({ firstMs }) => firstMs > fromMs)
    .map((handover) => unusedSlots(handover, scene.periodMs));
  const moves =
    scene.mode === "shard" ? `; ${unused.length} moves, at most ${Math.max(0, ...unused)} slots unused` : "";
  say(
    `  over after ${inSeconds(overMs - fromMs)}, all polled again ${inSeconds(monotonicMs() - overMs)} later; ` +
      `${meanwhile} requests meanwhile; longest silence of an upstream ${inSeconds(silentMs)}, ` +
      `where the next holder waits longer ${inSeconds(Math.max(silenceOf("router"), silenceOf("search")))}${moves}`,
  );
  return silentMs;
}

function inSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
