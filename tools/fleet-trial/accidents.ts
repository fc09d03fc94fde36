import { setTimeout as sleep } from "node:timers/promises";
import type { RawConfig, RawUpstream } from "../../test/support/config-folder.ts";
import { eventually } from "../../test/support/eventually.ts";
import type { Fleet } from "../../test/support/fleet/fleet.ts";
import { monotonicMs } from "../../test/support/fleet/monotonic.ts";
import type { Replica } from "../../test/support/fleet/replica.ts";
import type { Scene } from "../../test/support/fleet/scene.ts";

const TTL_MS = 10_000;
export const PERIOD_MS = 2_000;
const REPLICAS: readonly [string, string] = ["r1", "r2"];
/** Its next leader waits for a pace gap alone; that of the other for window, timeout and linger. */
export const GENTLE = "email";
/** By a reload. */
const ADDED = "added";
const WINDOW_MS = 10_000;
/** Of the time between two polls, a pace gap, the way of a request, and this machine's other work. */
export const SLACK_MS: number = PERIOD_MS + 2_500;

export const SCENE: Scene = {
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

/** What the owners allow, with the budget that comes by a reload. */
export const JUDGED: Scene = {
  ...SCENE,
  budgets: { ...SCENE.budgets, [ADDED]: { requests: 40, upstreams: [] } },
};

/** After an orderly stop. */
const LED_WITHIN_MS = 1_000;

export type Accident = {
  readonly name: string;
  readonly what: string;
  /** A sentence where something took too long. */
  readonly happen: (fleet: Fleet, leader: Replica) => Promise<string | void>;
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

export const ACCIDENTS: readonly Accident[] = [
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
      const stoppedAtMs = monotonicMs();
      await fleet.led();
      const leaderlessMs = monotonicMs() - stoppedAtMs;
      await fleet.start(leader.name);
      return leaderlessMs <= LED_WITHIN_MS ? undefined : `nobody led for ${leaderlessMs.toFixed(0)} ms`;
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
    name: "lock-emptied",
    what: "the lock is emptied",
    mostMs: 2_000,
    happen: (fleet) => fleet.redis.empty(),
  },
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
  {
    name: "reload",
    what: "the config is edited: a budget is added, upstreams move to it and theirs is removed, and all back",
    mostMs: 2_000,
    happen: async (fleet) => {
      await fleet.edit(withAdded);
      await sleep(15_000);
      await fleet.edit((config) => withoutRouter(withAdded(config)));
      await sleep(20_000);
      await fleet.edit((config) => config);
      await sleep(5_000);
    },
  },
  {
    name: "slow",
    what: "the lock answers after 2 s, and half a minute later the leader is killed",
    // It asks four times before it polls.
    mostMs: 1.5 * TTL_MS + 8_000,
    happen: async (fleet, leader) => {
      for (const name of REPLICAS) fleet.wayOf(name).delay(() => 1_000);
      await sleep(30_000);
      await leader.kill();
      await sleep(TTL_MS);
      await fleet.start(leader.name);
      await fleet.led();
      for (const name of REPLICAS) fleet.wayOf(name).delay(() => 0);
    },
  },
];

/** On a fleet whose lock has a Sentinel. */
export const FAILOVERS: readonly Accident[] = [
  {
    name: "failover-asked",
    what: "Sentinel makes the lock's replica its master",
    mostMs: TTL_MS,
    happen: async (fleet) => {
      const era = await fleet.sentinel.masterPort("mymaster");
      await fleet.sentinel.failOver("mymaster");
      await eventually(
        "there is another master",
        async () => (await fleet.sentinel.masterPort("mymaster")) !== era,
      );
      await sleep(TTL_MS);
    },
  },
  {
    name: "failover-killed",
    what: "the lock's master is killed, and Sentinel takes its replica",
    // Until Sentinel believes it, and the other one answers.
    mostMs: 1.5 * TTL_MS + 8_000,
    happen: async (fleet) => {
      const port = await fleet.sentinel.masterPort("mymaster");
      const [master, other] = fleet.lockServers.toSorted(({ port: one }) => (one === port ? -1 : 1));
      await master?.stop();
      await eventually(
        "there is another master",
        async () => (await fleet.sentinel.masterPort("mymaster")) === other?.port,
      );
      await sleep(2 * TTL_MS);
      await master?.restart();
    },
  },
];

function withAdded(config: RawConfig): RawConfig {
  const [first] = config.upstreams;
  if (first === undefined) return config;
  const added = moved({ ...first, name: "added-1" });
  return {
    ...config,
    budgets: { ...config.budgets, [ADDED]: config.budgets["router"] ?? {} },
    upstreams: [...config.upstreams, added],
  };
}

function withoutRouter(config: RawConfig): RawConfig {
  const { router: _, ...budgets } = config.budgets;
  const upstreams = config.upstreams.map((upstream) =>
    upstream["budget"] === "router" ? moved(upstream) : upstream,
  );
  return { ...config, budgets, upstreams };
}

/** The witness counts by the path: its first part is the budget, its second the upstream. */
function moved(upstream: RawUpstream): RawUpstream {
  const { origin } = new URL(String(upstream["base_url"]));
  return { ...upstream, budget: ADDED, base_url: `${origin}/${ADDED}/${upstream.name}` };
}
