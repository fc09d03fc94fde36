import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../../src/adapters/clock.ts";
import { KnownKeys } from "../../../src/adapters/secrets/known-keys.ts";
import { RedisFleetBoard } from "../../../src/adapters/redis/board.ts";
import { AppPolling } from "../../../src/app/polling.ts";
import { LocalLedger } from "../../../src/core/budget/local-ledger.ts";
import { partOf } from "../../../src/core/fleet/rendezvous.ts";
import { eventually } from "../../support/eventually.ts";
import { TestFleet } from "../../support/fleet-redis.ts";
import { SmallReplica, upstreamNames } from "../../support/fleet-world.ts";
import { REDIS_SERVER } from "../../support/processes/redis-server.ts";
import { sampleConfig, sampleSchedule, sampleUpstream } from "../../support/samples.ts";
import { NameResolver } from "../../../src/adapters/dns/name-resolver.ts";

const SILENT = { debug(): void {}, info(): void {}, warn(): void {}, error(): void {} };
const NAMES = upstreamNames(5_000);

let redis: TestFleet | undefined;
beforeAll(async () => {
  if (REDIS_SERVER !== undefined) redis = await TestFleet.start();
});
afterAll(() => redis?.[Symbol.asyncDispose]());

test.skipIf(REDIS_SERVER === undefined)(
  "on a real Redis, five thousand upstreams are shared anew after a death",
  { timeout: 90_000 },
  async () => {
    if (redis === undefined) throw new Error("no redis");
    const replicas: SmallReplica[] = [];
    for (const name of ["a", "b", "c"]) {
      const board = new RedisFleetBoard(await redis.connect(), { prefix: "rebalance" });
      const replica = new SmallReplica(systemClock, (isCutOff) => cutOffWhere(isCutOff, board), {
        name,
        boot: name,
      });
      replica.membership.setUpstreams(NAMES);
      replica.membership.start();
      replicas.push(replica);
    }
    const heldBy = (living: readonly SmallReplica[]): number =>
      living.reduce((sum, { polled }) => sum + polled.size, 0);
    await eventually(
      "all upstreams are held",
      () => heldBy(replicas),
      (held) => held === NAMES.length,
    );
    const [dead, ...living] = replicas;
    if (dead === undefined) throw new Error("no replica");
    dead.isCutOff = true;
    dead.polled.clear();
    const diedMs = performance.now();
    const loop = watchLoop();
    await eventually(
      "the others hold all upstreams",
      () => heldBy(living),
      (held) => held === NAMES.length,
    );
    const tookMs = performance.now() - diedMs;
    const longestMs = loop.stop();
    const { least, most } = partOf(NAMES.length, 2);
    for (const { polled } of living) {
      expect(polled.size).toBeGreaterThanOrEqual(least);
      expect(polled.size).toBeLessThanOrEqual(most);
    }
    process.stdout.write(
      `fleet: 5,000 upstreams shared anew ${Math.round(tookMs)} ms after a death; the loop stood still for ${Math.round(longestMs)} ms at the most\n`,
    );
    await Promise.all(living.map(({ membership }) => membership.close()));
    await dead.membership.close();
  },
);

/** For how long timers had to wait. */
function watchLoop(): { stop(): number } {
  let longestMs = 0;
  let lastMs = performance.now();
  const look = (): void => {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  };
  const timer = setInterval(look, 1);
  return {
    stop() {
      clearInterval(timer);
      look();
      return longestMs;
    },
  };
}

function cutOffWhere(isCutOff: () => boolean, board: RedisFleetBoard): RedisFleetBoard {
  return new Proxy(board, {
    get: (target, key: keyof RedisFleetBoard) =>
      isCutOff() && (key === "beat" || key === "claim" || key === "release")
        ? () => Promise.resolve({ kind: "away" })
        : target[key].bind(target),
  });
}

test("seventeen hundred probes are opened at once, and others get their turn meanwhile", async () => {
  const upstreams = NAMES.slice(0, 1_700).map((name) =>
    sampleUpstream({ name, schedule: sampleSchedule(3_600_000, name) }),
  );
  const config = sampleConfig({ upstreams });
  const ledger = new LocalLedger(config, systemClock);
  const onBug = (error: unknown): never => {
    throw error;
  };
  const stopping = new AbortController();
  const polling = new AppPolling(config, {
    environment: {},
    keys: new KnownKeys([]),
    clock: systemClock,
    names: new NameResolver({ clock: systemClock }),
    log: { ...SILENT, level: "info" },
    ledger,
    store: undefined,
    holdings: { has: () => true },
    stopping: stopping.signal,
    onBug,
  });
  const loop = watchLoop();
  const startedMs = performance.now();
  for (let from = 0; from < upstreams.length; from += 256) {
    const names = upstreams.slice(from, from + 256).map(({ name }) => name);
    await polling.gain(names.map((upstream) => ({ upstream, unheldMs: 10_000 })));
  }
  const tookMs = performance.now() - startedMs;
  const longestMs = loop.stop();
  expect(polling.applied.upstreams).toHaveLength(1_700);
  // Opened in one go, they would take all of the time in one turn.
  expect(longestMs).toBeLessThan(tookMs / 2);
  process.stdout.write(
    `fleet: 1,700 probes opened in ${Math.round(tookMs)} ms; the loop stood still for ${Math.round(longestMs)} ms at the most\n`,
  );
  polling.lose(upstreams.map(({ name }) => name));
  stopping.abort();
  await polling[Symbol.asyncDispose]();
});
