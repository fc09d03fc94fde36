import { randomUUID } from "node:crypto";
import { uptime } from "node:os";
import { expect, test } from "vitest";
import { systemClock } from "../../../../src/platform/clock.ts";
import { Redis } from "../../../../src/features/fleet/redis/connection.ts";
import { RedisRegister } from "../../../../src/features/fleet/redis/register.ts";
import type { LockRedis } from "../../../../src/features/fleet/config.ts";
import { Leader } from "../../../../src/features/fleet/lead/leader.ts";
import type { Reign } from "../../../../src/features/fleet/lead/reign.ts";
import { eventually } from "../../../support/eventually.ts";
import { sampleLockRedis } from "../../../support/samples.ts";
import { REDIS_SERVER, RedisServer } from "../../../support/processes/redis-server.ts";

const TTL_MS = 2_000;
/** A failover takes a second or two. */
const FAILOVER_MS = 15_000;
const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

function open(nodes: LockRedis["nodes"], stack: AsyncDisposableStack): Redis {
  return stack.use(
    new Redis(sampleLockRedis({ nodes }), {
      clock: systemClock,
      log: SILENT,
      withoutKeys: String,
      password: undefined,
      deadlineMs: TTL_MS / 4,
    }),
  );
}

type Candidate = {
  readonly leader: Leader;
  readonly maySend: () => boolean;
  readonly reign: () => Reign | undefined;
};

/** As a process of a fleet does. */
function join(name: string, redis: Redis): Candidate {
  let reign: Reign | undefined;
  const leader = new Leader({
    lock: new RedisRegister(redis, "test"),
    notes: new RedisRegister(redis, "test:notes"),
    clock: { ...systemClock, sinceBootMs: () => uptime() * 1_000 },
    ttlMs: TTL_MS,
    name,
    url: undefined,
    digest: () => "same",
    terms: () => [{ budget: "one", digest: "same", coldMs: 100, wholeMs: 1_000 }],
    key: "test",
    log: SILENT,
    random: Math.random,
    newId: randomUUID,
    onLead: (begun) => (reign = begun.home(() => [{ kind: "said", key: name, json: "✓" }])),
    onLost: () => (reign = undefined),
  });
  return { leader, maySend: () => reign?.maySend("one") === true, reign: () => reign };
}

const NOTHING = new Map<string, number>();

/** How many may send, looked at all the time until this is over. */
async function most(candidates: readonly Candidate[], act: () => Promise<unknown>): Promise<number> {
  let atOnce = 0;
  const looking = setInterval(() => {
    atOnce = Math.max(atOnce, candidates.filter(({ maySend }) => maySend()).length);
  }, 1);
  await act();
  clearInterval(looking);
  return atOnce;
}

test.skipIf(REDIS_SERVER === undefined)(
  "of two processes on one Redis one leads, and the other one soon after it was stopped, with what it noted",
  async () => {
    await using stack = new AsyncDisposableStack();
    const server = stack.use(await RedisServer.start());
    const first = join("first", open(server.address.nodes, stack));
    await eventually("the first one leads", first.maySend);
    const second = join("second", open(server.address.nodes, stack));
    const atOnce = await most([first, second], async () => {
      expect(await first.reign()?.write()).toBe(true);
      await eventually("the second one knows", () => second.leader.state.role === "standby");
      const stoppedAtMs = performance.now();
      await first.leader.stop(Promise.resolve(NOTHING));
      await eventually("the second one leads", second.maySend);
      expect(performance.now() - stoppedAtMs).toBeLessThan(10 * TTL_MS);
    });
    expect(atOnce).toBe(1);
    expect(second.reign()?.left?.notes).toEqual([{ kind: "said", key: "first", json: "✓" }]);
    expect(second.reign()?.term).toBe(2);
    await second.leader.stop(Promise.resolve(NOTHING));
  },
);

test.skipIf(REDIS_SERVER === undefined)(
  "after a failover by Sentinel nothing of before is sure, and one leads again, with its notes",
  async () => {
    await using stack = new AsyncDisposableStack();
    const master = stack.use(await RedisServer.start("--repl-diskless-sync-delay", "0"));
    stack.use(await RedisServer.start("--replicaof", "127.0.0.1", String(master.port)));
    const sentinel = stack.use(await RedisServer.startSentinel("mymaster", master.port));
    const nodes = {
      kind: "sentinel",
      master: "mymaster",
      nodes: [{ host: "127.0.0.1", port: sentinel.port }],
    } as const;
    const register = new RedisRegister(open(nodes, stack), "test");
    const candidates = ["first", "second"].map((name) => join(name, open(nodes, stack)));
    const leading = (): Candidate | undefined => candidates.find(({ maySend }) => maySend());
    const atOnce = await most(candidates, async () => {
      const leader = await eventually("one leads", leading);
      expect(await leader.reign()?.write()).toBe(true);
      const before = await eventually("the register answers", () => register.read().catch(() => undefined));
      let askedAtMs = Number.NEGATIVE_INFINITY;
      const after = await eventually(
        "another server answers",
        async () => {
          // Where the replica is not ready, or too slow, a failover is refused or given up.
          if (performance.now() - askedAtMs > FAILOVER_MS) {
            askedAtMs = performance.now();
            void sentinel.failOver("mymaster").catch(() => {});
          }
          return register.read().catch(() => before);
        },
        ({ era }) => era !== before.era,
      );
      expect(await register.write("by an old version", before.version)).toEqual({ kind: "changed" });
      expect(after.value).toContain('"life"');
      await eventually("one leads", leading);
    });
    expect(atOnce).toBe(1);
    await Promise.all(candidates.map(({ leader }) => leader.stop(Promise.resolve(NOTHING))));
  },
);
