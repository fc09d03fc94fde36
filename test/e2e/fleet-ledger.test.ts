import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";

import { startSimulatedUpstream } from "../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream, type RawConfig } from "../support/config-folder.ts";
import { type Daemon, startDaemon } from "../support/daemon.ts";
import { eventually } from "../support/eventually.ts";
import { sumOfSamples } from "../support/exposition-parser.ts";
import { REDIS_SERVER, RedisServer } from "../support/redis-server.ts";

const LIMIT = { requests: 20, perMs: 2_000 };

function configOf(url: string, port: number, name: string, reserve: string): RawConfig {
  return {
    budgets: { api: { rate: { requests: LIMIT.requests, per: "2s" }, share: "100%" } },
    upstreams: ["a", "b", "c", "d"].map((upstream) =>
      rawUpstream(upstream, url, { every: "1s", timeout: "400ms", confirm: 0 }),
    ),
    fleet: {
      redis: { url: `redis://127.0.0.1:${port}` },
      mode: "everywhere",
      replicas: 2,
      reserve,
      name,
    },
  };
}

async function skippedByLedger(daemon: Daemon): Promise<number> {
  return sumOfSamples(await daemon.metrics(), "pacewatch_polls_skipped_total", { cause: "ledger" });
}

test.skipIf(REDIS_SERVER === undefined)(
  "two replicas keep one limit together, while Redis stands still, goes, and comes back empty, and one of them is killed",
  async () => {
    await using upstream = await startSimulatedUpstream({
      name: "api",
      limits: [LIMIT],
      limitHeaders: "none",
      latency: { minMs: 0, maxMs: 150 },
    });
    await using redis = await RedisServer.start();
    await using one = await openConfigFolder(configOf(upstream.url, redis.port, "one", "20%"));
    await using two = await openConfigFolder(configOf(upstream.url, redis.port, "two", "20%"));
    await using first = await startDaemon({ configPath: one.path });
    const doomed = await startDaemon({ configPath: two.path });
    await eventually(() => (upstream.requests > 20 ? true : undefined));
    redis.halt();
    // Longer than every cold start of a reserve: both go on from what they have for themselves.
    const halted = upstream.requests;
    await eventually(() => (upstream.requests > halted + 6 ? true : undefined));
    await first.logged("redis is away");
    redis.resume();
    await sleep(1_500);
    doomed.kill("SIGKILL");
    await doomed.exited;
    await using second = await startDaemon({ configPath: two.path });
    await sleep(1_000);
    await redis.restart();
    const emptied = upstream.requests;
    await eventually(() => (upstream.requests > emptied + 40 ? true : undefined));
    expect(upstream.violations).toBe(0);
    expect(upstream.worstWindow()[0]?.requests).toBeLessThanOrEqual(LIMIT.requests);
    for (const daemon of [first, second]) daemon.kill("SIGTERM");
    expect(await first.exited).toEqual({ code: 0, signal: null });
    expect(await second.exited).toEqual({ code: 0, signal: null });
  },
  60_000,
);

test.skipIf(REDIS_SERVER === undefined)(
  "a replica without a reserve says that it did not look, for as long as Redis is away",
  async () => {
    await using upstream = await startSimulatedUpstream({
      name: "api",
      limits: [LIMIT],
      limitHeaders: "none",
    });
    await using redis = await RedisServer.start();
    await using folder = await openConfigFolder(configOf(upstream.url, redis.port, "one", "0%"));
    await using daemon = await startDaemon({ configPath: folder.path });
    await eventually(() => (upstream.requests > 3 ? true : undefined));
    await redis.stop();
    await daemon.logged("redis is away");
    const before = await skippedByLedger(daemon);
    await eventually(async () => ((await skippedByLedger(daemon)) > before + 3 ? true : undefined));
    await redis.restart();
    const away = upstream.requests;
    await eventually(() => (upstream.requests > away + 3 ? true : undefined));
    expect(upstream.worstWindow()[0]?.requests).toBeLessThanOrEqual(LIMIT.requests);
  },
  60_000,
);
