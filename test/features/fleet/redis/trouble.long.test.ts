import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { systemClock } from "../../../../src/platform/clock.ts";
import { Redis } from "../../../../src/features/fleet/redis/connection.ts";
import { messageOf } from "../../../../src/kernel/text/escape.ts";
import type { LockRedis } from "../../../../src/features/fleet/config.ts";
import { eventually } from "../../../support/eventually.ts";
import { sampleLockRedis } from "../../../support/samples.ts";
import { REDIS_SERVER, RedisServer } from "../../../support/processes/redis-server.ts";

const WRITE = "return redis.call('SET', KEYS[1], '1')";
const READ = "return redis.call('GET', KEYS[1])";

type Opened = AsyncDisposable & {
  readonly redis: Redis;
  /** What each command came to: an error, or nothing of note. */
  readonly replies: readonly string[];
  readonly told: readonly string[];
};

/** Asks for much, all the time. */
function open(address: LockRedis): Opened {
  const replies: string[] = [];
  const told: string[] = [];
  const tell = (fields: object, msg: string): void => void told.push(`${msg} ${JSON.stringify(fields)}`);
  const redis = new Redis(sampleLockRedis(address), {
    clock: systemClock,
    log: { debug: () => {}, info: tell, warn: tell, error: tell },
    withoutKeys: String,
    password: undefined,
    // A busy machine is not what is tried here.
    deadlineMs: 60_000,
  });
  const ask = (): void =>
    void ["a", "b", "c", "d"].flatMap((key) =>
      [READ, WRITE].map((script) =>
        redis.run(script, key).then(
          () => replies.push("done"),
          (error: unknown) => replies.push(messageOf(error)),
        ),
      ),
    );
  const tick = setInterval(ask, 20);
  return {
    redis,
    replies,
    told,
    [Symbol.asyncDispose]: () => {
      clearInterval(tick);
      return redis[Symbol.asyncDispose]();
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
    const { replies, told } = opened;
    await eventually("Redis is connected", () => replies.includes("done"));
    await cli(server, "config", "set", ...ill);
    const refused = (): number => replies.filter((reply) => reply.startsWith(code)).length;
    await eventually("it was refused much", () => refused() > 50);
    expect(told).toEqual([
      "Redis connected {}",
      expect.stringContaining(`Redis command failed {"problem":"${code}`),
    ]);
    await cli(server, "config", "set", ...well);
    // It was well for half a minute by then.
    await eventually("it is told", () => told.length > 2);
    expect(told.slice(2)).toEqual(["Redis connected {}"]);
  },
);

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
      expect([...bare.told].sort()).toEqual([
        "Redis connected {}",
        expect.stringContaining("min-replicas-to-write is 0"),
        expect.stringContaining("maxmemory-policy is allkeys-lru"),
      ]);
      await cli(server, "config", "set", "maxmemory-policy", "noeviction", "min-replicas-to-write", "1");
      await using right = open(server.address);
      await eventually("it works", () => right.replies.length > 100);
      expect(right.told).toEqual(["Redis connected {}"]);
      await replica.stop();
    },
  );

test
  .skipIf(REDIS_SERVER === undefined)
  .concurrent(
    "a user who may not ask for the config of Redis is told nothing about it, and Redis is up",
    async () => {
      const user = "user pacewatch on nopass ~* resetchannels -@all +eval +info +get +set";
      await using server = await RedisServer.start(
        ...`--${user}`.split(" ").concat("--user", "default", "off"),
      );
      await using opened = open({ ...server.address, username: "pacewatch" });
      await eventually("it works", () => opened.replies.filter((reply) => reply === "done").length > 100);
      expect(opened.told).toEqual(["Redis connected {}"]);
    },
  );
