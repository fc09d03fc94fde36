import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { monotonicMs } from "../../test/support/fleet/monotonic.ts";
import { openScene, type Scene } from "../../test/support/fleet/scene.ts";
import { judgeFleet } from "../../test/support/fleet/verdict.ts";
import { RedisServer } from "../../test/support/processes/redis-server.ts";
import { say } from "./say.ts";

const TTL_MS = 10_000;
const PERIOD_MS = 2_000;
const SLACK_MS = 2_000;

const SCENE: Scene = {
  mode: "shard",
  replicas: ["r1", "r2", "r3"],
  ttlMs: TTL_MS,
  periodMs: PERIOD_MS,
  windowMs: 10_000,
  timeoutMs: 2_000,
  lingerMs: 1_000,
  isScraped: true,
  budgets: Object.fromEntries(
    ["email", "router", "search"].map((name) => [
      name,
      { requests: 60, share: "67%", upstreams: [1, 2, 3, 4].map((index) => `${name}-${index}`) },
    ]),
  ),
};

/** The master is killed, and a sentinel makes its replica the next one. */
export async function tellFailover(): Promise<readonly string[]> {
  await using master = await RedisServer.start();
  await using replica = await RedisServer.start("--replicaof", "127.0.0.1", String(master.port));
  await using sentinel = await RedisServer.startSentinel("main", master.port);
  const command = (port: number, ...args: readonly string[]): Promise<{ readonly stdout: string }> =>
    promisify(execFile)("redis-cli", ["-p", String(port), ...args]);
  await command(sentinel.port, "SENTINEL", "SET", "main", "down-after-milliseconds", "2000");
  while (!(await command(master.port, "INFO", "replication")).stdout.includes("state=online"))
    await sleep(100);
  await using fleet = await openScene(SCENE, {
    fleet: {
      mode: "shard",
      ttl: `${TTL_MS}ms`,
      redis: { sentinel: { master: "main", nodes: [`127.0.0.1:${sentinel.port}`] } },
    },
  });
  await fleet.settled();
  await fleet.allPolled();
  // A sentinel looks for the replicas of its master every ten seconds.
  await sleep(11_000);
  say("failover: Redis's master is killed, and a sentinel promotes its replica");
  const fromMs = monotonicMs();
  await master.stop();
  while (!(await command(replica.port, "INFO", "replication")).stdout.includes("role:master"))
    await sleep(100);
  say(`  promoted after ${((monotonicMs() - fromMs) / 1_000).toFixed(1)} s`);
  await sleep(3 * TTL_MS);
  await fleet.settled();
  await fleet.allPolled();
  const seen = (await fleet.seen()).filter(({ atMs }) => atMs > fromMs);
  const silentMs = Math.max(
    ...[...Map.groupBy(seen, ({ upstream }) => upstream).values()].flatMap((requests) =>
      requests.map(({ atMs }, index) => atMs - (requests[index - 1]?.atMs ?? fromMs)),
    ),
  );
  say(`  longest silence of an upstream ${(silentMs / 1_000).toFixed(1)} s`);
  const { summary, faults } = await judgeFleet(fleet, SCENE);
  say(`failover: ${summary}`);
  const late =
    silentMs > 2 * TTL_MS + PERIOD_MS + SLACK_MS
      ? [`an upstream was silent for ${silentMs.toFixed(0)} ms`]
      : [];
  for (const fault of [...faults, ...late]) say(`VIOLATION: ${fault}`);
  return [...faults, ...late];
}
