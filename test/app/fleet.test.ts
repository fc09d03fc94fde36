import { expect, onTestFinished, test } from "vitest";
import { Redis } from "../../src/adapters/redis/connection.ts";
import { KnownKeys } from "../../src/adapters/secrets/known-keys.ts";
import { AppFleet } from "../../src/app/fleet.ts";
import { Quotas } from "../../src/core/budget/quotas.ts";
import type { FleetMode } from "../../src/core/config/config.ts";
import type { FleetView } from "../../src/core/fleet/fleet-status.ts";
import { Holdings } from "../../src/core/fleet/holdings.ts";
import { RedisAccount } from "../../src/core/metrics/accounts.ts";
import type { Clock } from "../../src/core/time/clock.ts";
import { FleetLedger } from "../../src/engine/fleet/fleet-ledger.ts";
import { VirtualBoards } from "../support/fleet-world.ts";
import {
  sampleBudget,
  sampleConfig,
  sampleFleet,
  sampleFleetView,
  sampleUpstream,
} from "../support/samples.ts";
import { VirtualClock } from "../support/virtual/clock.ts";

const TTL_MS = 10_000;
const NAMES = ["ai", "email", "maps", "search"];
const mute = (): void => {};
const onBug = (bug: unknown): void => {
  throw bug;
};

type Small = {
  readonly app: AppFleet;
  /** What it polls. */
  readonly polled: Set<string>;
  /** How it sees what it polls. */
  view: Omit<FleetView, "vantage">;
  /** So often it has asked what the board says of upstreams. */
  asked: number;
};

/** It tries once to connect, in vain: the board of this test is none of its. */
const ASLEEP: Clock = {
  now: () => 0,
  wallNow: () => 0,
  sleep: (_, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) resolve();
      signal?.addEventListener("abort", () => resolve());
    }),
};

function join(clock: VirtualClock, boards: VirtualBoards, name: string, mode: FleetMode = "shard"): Small {
  const nodes = { kind: "single", host: "127.0.0.1", port: 1, database: 0 } as const;
  const access = { username: undefined, password: undefined, tls: undefined };
  const fleet = sampleFleet({ name, mode, ttlMs: TTL_MS, redis: { nodes, ...access } });
  const config = sampleConfig({
    fleet,
    budgets: NAMES.map((budget) => sampleBudget({ name: budget })),
    upstreams: NAMES.map((upstream) => sampleUpstream({ name: upstream, budgets: [upstream] })),
  });
  const log = { debug: mute, info: mute, warn: mute, error: mute };
  const redis = new Redis(fleet, {
    clock: ASLEEP,
    log,
    withoutKeys: String,
    password: undefined,
    onCall: mute,
  });
  onTestFinished(() => redis.close());
  const told = boards.boardFor(() => false);
  const board = { ...told, records: () => ((small.asked += 1), told.records()) };
  const holdings = new Holdings({ name, boot: "boot", ttlMs: TTL_MS }, clock);
  const quotas = new Quotas(clock);
  const ledger = new FleetLedger(config, { fleet, board, holdings, clock, quotas, onBug });
  const polled = new Set<string>();
  const stop = (upstreams: readonly string[]): void => {
    for (const upstream of upstreams) polled.delete(upstream);
  };
  const { vantage: _, ...view } = sampleFleetView({ knownUntilMs: clock.wallNow() + 3_600_000 });
  const small = { polled, view, asked: 0 };
  const app = new AppFleet({
    clock,
    log,
    onBug,
    environment: {},
    keys: new KnownKeys([]),
    fleet,
    redis,
    board,
    ledger,
    account: new RedisAccount(clock.wallNow()),
    holdings,
    replica: {
      onGained: (gained) => {
        for (const { upstream } of gained) polled.add(upstream);
      },
      onLost: stop,
      drain: (upstreams) => Promise.resolve(stop(upstreams)),
      onPaused: mute,
      notifiedRecords: () => [],
      views: () => (mode === "shard" ? [...polled] : NAMES).map((each) => [each, small.view]),
    },
  });
  app.start(config, `http://${name}.test`);
  return Object.assign(small, { app });
}

async function statusOf({ app }: Small, clock: VirtualClock): ReturnType<AppFleet["status"]> {
  const asked = app.status();
  await clock.advance(10);
  return await asked;
}

test("any replica tells who lives, who holds what, and how its holder sees it", async () => {
  const clock = new VirtualClock();
  const boards = new VirtualBoards(clock);
  const [a, b] = [join(clock, boards, "a"), join(clock, boards, "b")];
  a.view = { ...a.view, knownUntilMs: clock.wallNow() + 10 * TTL_MS };
  b.view = { ...b.view, state: "down", isUp: false, knownUntilMs: clock.wallNow() + 5 * TTL_MS };
  await clock.advance(4 * TTL_MS);
  expect([a.polled.size, b.polled.size]).toEqual([2, 2]);
  const { replicas, upstreams, budgets, ...own } = await statusOf(a, clock);
  expect(own).toMatchObject({ mode: "shard", name: "a", redisUp: false, sessionValid: true, configs: 1 });
  const replica = { held: 2, isLeaving: false, isNew: false, clockAheadMs: 0 };
  expect(replicas).toEqual([
    { ...replica, name: "a", url: "http://a.test", isThisOne: true },
    { ...replica, name: "b", url: "http://b.test", isThisOne: false },
  ]);
  const holderOf = (name: string): string => (a.polled.has(name) ? "a" : "b");
  const seenBy = {
    a: { vantage: "a", state: "up", isUp: true },
    b: { vantage: "b", state: "down", isUp: false },
  };
  expect(budgets).toEqual(NAMES.map((name) => ({ name, holder: holderOf(name) })));
  expect(upstreams).toMatchObject(
    NAMES.map((name) => ({
      name,
      holder: holderOf(name),
      views: [holderOf(name) === "a" ? seenBy.a : seenBy.b],
    })),
  );
  expect((await statusOf(b, clock)).upstreams).toEqual(upstreams);
  // What b saw last holds no longer, and what a saw does.
  await clock.advance(2 * TTL_MS);
  const later = (await statusOf(a, clock)).upstreams.map(({ views }) => views[0]?.state);
  expect(later).toEqual(NAMES.map((name) => (a.polled.has(name) ? "up" : "unknown")));
});

test("from everywhere, each replica has a view of its own on each upstream, and none is held by anybody", async () => {
  const clock = new VirtualClock();
  const boards = new VirtualBoards(clock);
  const [a, b] = [join(clock, boards, "a", "everywhere"), join(clock, boards, "b", "everywhere")];
  b.view = { ...b.view, state: "down", isUp: false };
  await clock.advance(4 * TTL_MS);
  const { upstreams, budgets, replicas } = await statusOf(a, clock);
  expect(budgets).toEqual([]);
  expect(replicas.map(({ held, isNew }) => [held, isNew])).toEqual([
    [NAMES.length, false],
    [NAMES.length, false],
  ]);
  for (const { holder, views } of upstreams) {
    expect(holder).toBeUndefined();
    expect(views.map(({ vantage, state }) => [vantage, state])).toEqual([
      ["a", "up"],
      ["b", "down"],
    ]);
  }
});

test("who has just begun is shown as new, and however often a page is loaded, Redis is asked once a second", async () => {
  const clock = new VirtualClock();
  const boards = new VirtualBoards(clock);
  const a = join(clock, boards, "a");
  await clock.advance(4 * TTL_MS);
  const b = join(clock, boards, "b");
  await clock.advance(TTL_MS / 2);
  expect((await statusOf(a, clock)).replicas.map(({ name, isNew }) => [name, isNew])).toEqual([
    ["a", false],
    ["b", true],
  ]);
  expect(b.polled.size).toBe(0);
  await clock.advance(1_000);
  const before = a.asked;
  const loads = Array.from({ length: 50 }, () => a.app.status());
  await clock.advance(10);
  await Promise.all(loads);
  expect(a.asked - before).toBe(1);
});

test("only the eldest hears all that the board says", async () => {
  const clock = new VirtualClock();
  const boards = new VirtualBoards(clock);
  const a = join(clock, boards, "a");
  await clock.advance(4 * TTL_MS);
  const b = join(clock, boards, "b");
  await clock.advance(4 * TTL_MS);
  const heard = Promise.all([a.app.hear(), b.app.hear()]);
  await clock.advance(10);
  const [byEldest, byOther] = await heard;
  expect([...(byEldest?.keys() ?? [])].toSorted()).toEqual(NAMES.map((name) => `u:${name}`));
  expect(byOther).toBeUndefined();
  expect([a.app.isLive("b"), a.app.isLive("c"), a.app.isLive(undefined)]).toEqual([true, false, true]);
  expect(a.app.snapshot()).toMatchObject({
    vantage: undefined,
    replicas: 2,
    upstreams: NAMES.length,
    held: a.polled.size,
    hasReserve: undefined,
    redisUp: false,
  });
});
