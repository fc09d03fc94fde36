import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { systemClock } from "../../../src/adapters/clock.ts";
import { Redis, type RedisCall } from "../../../src/adapters/redis/connection.ts";
import { redisScript } from "../../../src/adapters/redis/script.ts";
import type { FleetRedis } from "../../../src/core/config/config.ts";
import { eventually } from "../../support/eventually.ts";
import { sampleFleet } from "../../support/samples.ts";
import { REDIS_SERVER, RedisServer } from "../../support/processes/redis-server.ts";

const WRITE = redisScript("write", "return redis.call('HSET', KEYS[1], 'at', now)");
const READ = redisScript("read", "return redis.call('HGETALL', KEYS[1])");

type Opened = AsyncDisposable & {
  readonly redis: Redis;
  readonly calls: readonly RedisCall[];
  readonly told: readonly string[];
};

/** As the ledger does: everything is asked for again whenever Redis is said to be back. */
function open(address: FleetRedis): Opened {
  const calls: RedisCall[] = [];
  const told: string[] = [];
  const tell = (fields: object, msg: string): void => void told.push(`${msg} ${JSON.stringify(fields)}`);
  const redis = new Redis(sampleFleet({ redis: address }), {
    clock: systemClock,
    log: { debug: () => {}, info: tell, warn: tell, error: tell },
    withoutKeys: String,
    password: undefined,
    onCall: (call) => calls.push(call),
  });
  const ask = (): void =>
    void ["a", "b", "c", "d"].map((key) => [redis.run(READ, [key], []), redis.run(WRITE, [key], [])]);
  redis.onChange((isUp) => isUp && ask());
  const tick = setInterval(ask, 20);
  return {
    redis,
    calls,
    told,
    [Symbol.asyncDispose]: () => {
      clearInterval(tick);
      return redis.close();
    },
  };
}

async function cli(server: RedisServer, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)("redis-cli", ["-p", String(server.port), ...args]);
  return stdout;
}

const TROUBLES: readonly (readonly [string, string, readonly string[], readonly string[]])[] = [
  [
    "has fewer replicas than it needs",
    "NOREPLICAS",
    ["min-replicas-to-write", "1"],
    ["min-replicas-to-write", "0"],
  ],
  ["has no memory left", "OOM", ["maxmemory", "1"], ["maxmemory", "0"]],
];

test.skipIf(REDIS_SERVER === undefined).concurrent.for(TROUBLES)(
  "a Redis that %s is one line in the log, however many commands it refuses, and one when it is well",
  async ([, code, ill, well]) => {
    await using server = await RedisServer.start();
    await using opened = open(server.address);
    const { redis, calls, told } = opened;
    await eventually("Redis is connected", () => redis.isUp);
    const changes: boolean[] = [];
    redis.onChange((isUp) => changes.push(isUp));
    await cli(server, "config", "set", ...ill);
    const pings = (): number => calls.filter(({ call }) => call === "ping").length;
    const before = pings();
    await eventually("it was pinged many times", () => pings() - before > 3);
    expect(calls.filter(({ failure }) => failure === "refused").length).toBeGreaterThan(50);
    expect(changes).toEqual([false]);
    expect(told).toEqual([
      "Redis connected {}",
      expect.stringContaining(`Redis command failed {"problem":"${code}`),
    ]);
    await cli(server, "config", "set", ...well);
    await eventually("Redis is up", () => redis.isUp);
    expect(told.slice(2)).toEqual(["Redis connected {}"]);
  },
);

test
  .skipIf(REDIS_SERVER === undefined)
  .concurrent("a cluster that serves some keys and refuses others is one line in the log", async () => {
    await using server = await RedisServer.startCluster("--cluster-require-full-coverage", "no");
    await cli(server, "cluster", "addslotsrange", "0", "16383");
    await eventually("it is a cluster", async () => (await cli(server, "set", "other", "1")) === "OK\n");
    const nodes = [{ host: "127.0.0.1", port: server.port }];
    await using opened = open({ ...server.address, nodes: { kind: "cluster", nodes } });
    const { redis, calls, told } = opened;
    await eventually("Redis is connected", () => redis.isUp);
    const toldBefore = told.length;
    // Of the keys: only b stays.
    await cli(server, "cluster", "delslotsrange", "7000", "16383");
    const before = calls.length;
    await eventually("it was asked much", () => calls.length - before > 500);
    expect(new Set(calls.slice(before + 100).map(({ failure }) => failure))).toEqual(
      new Set([undefined, "refused"]),
    );
    expect(told.slice(toldBefore)).toHaveLength(1);
  });

test
  .skipIf(REDIS_SERVER === undefined)
  .concurrent(
    "what the promise rests on and Redis does not have is told at the start, and nothing else",
    async () => {
      await using server = await RedisServer.start(
        "--maxmemory",
        "100mb",
        "--maxmemory-policy",
        "allkeys-lru",
      );
      await using replica = await RedisServer.start("--replicaof", "127.0.0.1", String(server.port));
      await eventually("the replica is there", async () =>
        (await cli(server, "info", "replication")).includes("state=online"),
      );
      await using bare = open(server.address);
      await eventually("it was told", () => bare.told.length === 3);
      expect(bare.told).toEqual([
        "Redis connected {}",
        expect.stringContaining("min-replicas-to-write is 0"),
        expect.stringContaining("maxmemory-policy is allkeys-lru"),
      ]);
      await cli(server, "config", "set", "maxmemory-policy", "noeviction", "min-replicas-to-write", "1");
      await using right = open(server.address);
      await eventually("it works", () => right.calls.length > 100);
      expect(right.told).toEqual(["Redis connected {}"]);
      await replica.stop();
    },
  );

test
  .skipIf(REDIS_SERVER === undefined)
  .concurrent(
    "a user who may not ask for the config of Redis is told nothing about it, and Redis is up",
    async () => {
      const user =
        "user pacewatch on nopass ~* resetchannels -@all +eval +evalsha +time +info +hset +hgetall +pexpire";
      await using server = await RedisServer.start(
        ...`--${user}`.split(" ").concat("--user", "default", "off", "--cluster-enabled", "no"),
      );
      await using opened = open({ ...server.address, username: "pacewatch" });
      await eventually("it works", () => opened.redis.isUp && opened.calls.length > 100);
      expect(opened.told).toEqual(["Redis connected {}"]);
    },
  );
