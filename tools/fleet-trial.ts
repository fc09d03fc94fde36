/**
 * A fleet at full length, which no test has the time for: real processes, a real Redis, and an upstream in a process of
 * its own that remembers every request. It prints what was seen, and ends with 1 where a promise was broken.
 * `npm run fleet-trial`, or with words of some accidents, as in `npm run fleet-trial -- killed frozen`.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { Fleet } from "../test/support/fleet/fleet.ts";
import { monotonicMs } from "../test/support/fleet/monotonic.ts";
import type { Replica } from "../test/support/fleet/replica.ts";
import { openScene, type Scene } from "../test/support/fleet/scene.ts";
import { judgeFleet } from "../test/support/fleet/verdict.ts";
import { REDIS_SERVER } from "../test/support/processes/redis-server.ts";

const TTL_MS = 10_000;
const PERIOD_MS = 2_000;
const REPLICAS = ["r1", "r2"] as const;
/** Its next leader waits for a pace gap alone; that of the other for window, timeout and linger. */
const GENTLE = "email";
const WINDOW_MS = 10_000;
/** Of the time between two polls, a pace gap, the way of a request, and this machine's other work. */
const SLACK_MS = PERIOD_MS + 2_500;

const SCENE: Scene = {
  replicas: REPLICAS,
  ttlMs: TTL_MS,
  periodMs: PERIOD_MS,
  windowMs: WINDOW_MS,
  timeoutMs: 2_000,
  lingerMs: 1_000,
  isScraped: true,
  budgets: {
    [GENTLE]: { requests: 60, share: "67%", upstreams: ["email-1", "email-2", "email-3"] },
    router: { requests: 40, upstreams: ["router-1", "router-2", "router-3"] },
  },
};

type Accident = {
  readonly name: string;
  readonly what: string;
  readonly happen: (fleet: Fleet, leader: Replica) => Promise<void>;
  /** So long the upstreams of the gentle budget may be silent, beside the slack. */
  readonly mostMs: number;
  /** Nobody can poll until it is over. */
  readonly silencesAll?: true;
};

function frozen(seconds: number, mostMs: number): Accident {
  return {
    name: `frozen-${seconds}`,
    what: `the leader is stopped for ${seconds} s, and goes on`,
    mostMs,
    happen: async (_, leader) => {
      leader.freeze();
      await sleep(seconds * 1_000);
      leader.thaw();
    },
  };
}

function cut(way: "drop" | "mute" | "reset", what: string, mostMs: number): Accident {
  return {
    name: `cut-${way}`,
    what: `the leader is cut off from the lock for 30 s: ${what}`,
    mostMs,
    happen: async (fleet, leader) => {
      fleet.wayOf(leader.name).cut(way);
      await sleep(30_000);
      fleet.wayOf(leader.name).mend();
    },
  };
}

const ACCIDENTS: readonly Accident[] = [
  {
    name: "killed",
    what: "the leader is killed, and started again after 20 s",
    mostMs: 1.5 * TTL_MS,
    happen: async (fleet, leader) => {
      await leader.kill();
      await sleep(2 * TTL_MS);
      await fleet.start(leader.name);
    },
  },
  {
    name: "stopped",
    what: "the leader is stopped in order, and started again",
    mostMs: 2_000,
    happen: async (fleet, leader) => {
      await leader.stop();
      await fleet.led();
      await fleet.start(leader.name);
    },
  },
  frozen(5, 5_000 + TTL_MS / 2),
  frozen(9, 1.5 * TTL_MS),
  frozen(15, 1.5 * TTL_MS),
  frozen(60, 1.5 * TTL_MS),
  cut("drop", "nothing arrives, until all does", 1.5 * TTL_MS),
  cut("mute", "its commands arrive, and no answer comes back", 1.5 * TTL_MS),
  cut("reset", "whatever connects is reset", 1.5 * TTL_MS),
  {
    name: "lock-restarted",
    what: "the lock is restarted, empty",
    mostMs: 2_000,
    happen: (fleet) => fleet.redis.restart(),
  },
  {
    name: "lock-silent",
    what: "the lock stands still for 2 s",
    mostMs: 2_000,
    happen: async (fleet) => {
      fleet.redis.halt();
      await sleep(2_000);
      fleet.redis.resume();
    },
  },
  {
    name: "lock-away",
    what: "the lock is killed, and comes back empty after 30 s",
    mostMs: 1.5 * TTL_MS,
    silencesAll: true,
    happen: async (fleet) => {
      await fleet.redis.stop();
      await sleep(30_000);
      await fleet.redis.restart();
    },
  },
  {
    name: "all-killed",
    what: "all are killed, and started again",
    mostMs: 1.5 * TTL_MS,
    silencesAll: true,
    happen: async (fleet) => {
      await Promise.all(fleet.current.map((replica) => replica.kill()));
      await Promise.all(REPLICAS.map((name) => fleet.start(name)));
    },
  },
  {
    name: "crash-loop",
    what: "the other one crashes again and again: ten lives of 3 s",
    mostMs: 2_000,
    happen: async (fleet, leader) => {
      const other = REPLICAS.find((name) => name !== leader.name) ?? REPLICAS[0];
      for (let life = 0; life < 10; life += 1) {
        await fleet.replica(other).kill();
        await fleet.start(other);
        await sleep(3_000);
      }
    },
  },
  {
    name: "rolling",
    what: "one after the other is stopped in order and started again, as by an upgrade",
    mostMs: 3_000,
    happen: async (fleet) => {
      for (const name of REPLICAS) {
        await fleet.replica(name).stop();
        await fleet.led();
        await fleet.start(name);
        await fleet.allPolled();
      }
    },
  },
];

process.exitCode = await fleetTrial(process.argv.slice(2));

async function fleetTrial(wanted: readonly string[]): Promise<number> {
  if (REDIS_SERVER === undefined) return 1;
  const chosen = ACCIDENTS.filter(
    ({ name }) => wanted.length === 0 || wanted.some((each) => name.startsWith(each)),
  );
  await using fleet = await openScene(SCENE);
  await fleet.led();
  await fleet.allPolled();
  const late: string[] = [];
  for (const { name, what, happen, mostMs, silencesAll } of chosen) {
    const fromMs = monotonicMs();
    const fromWallMs = Date.now();
    say(`${name}: ${what}`);
    await happen(fleet, await fleet.led());
    const overMs = monotonicMs();
    await fleet.led();
    await fleet.allPolled();
    const seen = (await fleet.seen()).filter(({ atMs }) => atMs > fromMs - PERIOD_MS);
    const [gentle, other] = [GENTLE, "router"].map((budget) =>
      longestSilenceMs(seen.filter((request) => request.budget === budget)),
    );
    say(
      `  over after ${inSeconds(overMs - fromMs)}; longest silence of an upstream ${inSeconds(gentle ?? 0)}, where the next leader waits longer ${inSeconds(other ?? 0)}`,
    );
    for (const line of changesOf(fleet, fromWallMs)) say(`  ${line}`);
    const allowedMs = mostMs + SLACK_MS + (silencesAll ? overMs - fromMs : 0);
    if ((gentle ?? 0) > allowedMs)
      late.push(`${name}: silent for ${inSeconds(gentle ?? 0)}, of ${inSeconds(allowedMs)}`);
  }
  const { summary, faults } = await judgeFleet(fleet, SCENE);
  say(summary);
  for (const fault of [...faults, ...late]) say(`VIOLATION: ${fault}`);
  return faults.length + late.length === 0 ? 0 : 1;
}

/** Who began to lead, and who lost it, by their logs. */
function changesOf(fleet: Fleet, fromWallMs: number): readonly string[] {
  return fleet.lives
    .flatMap(({ life, daemon }) => daemon.logs.map(({ time, msg }) => ({ life, time: String(time), msg })))
    .filter(({ time, msg }) => Date.parse(time) >= fromWallMs && /^(?:not )?leading\b/.test(msg))
    .toSorted((one, other) => one.time.localeCompare(other.time))
    .map(({ life, time, msg }) => `${time.slice(11, 23)} ${life} ${msg.split(":", 1).join()}`);
}

function longestSilenceMs(seen: readonly { readonly upstream: string; readonly atMs: number }[]): number {
  const byUpstream = Map.groupBy(seen, ({ upstream }) => upstream);
  return Math.max(
    0,
    ...[...byUpstream.values()].flatMap((some) =>
      some.map(({ atMs }, index) => atMs - (some[index - 1]?.atMs ?? atMs)),
    ),
  );
}

/** One line of a story, with the seconds since it began. */
function say(text: string): void {
  console.log(`${(performance.now() / 1_000).toFixed(1).padStart(7)} s  ${text}`);
}

function inSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
