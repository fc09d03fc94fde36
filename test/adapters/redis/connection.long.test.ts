import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { systemClock } from "../../../src/adapters/clock.ts";
import { RedisFleetBoard } from "../../../src/adapters/redis/board.ts";
import { Redis, type RedisCall } from "../../../src/adapters/redis/connection.ts";
import { redisScript } from "../../../src/adapters/redis/script.ts";
import type { FleetRedis } from "../../../src/core/config/config.ts";
import { certificates } from "../../support/certificates.ts";
import { eventually } from "../../support/eventually.ts";
import { sampleFleet } from "../../support/samples.ts";
import { REDIS_SERVER, RedisServer } from "../../support/processes/redis-server.ts";

const PASSWORD = "test-key-of-redis";
const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const COUNT = redisScript("count", "return redis.call('INCR', KEYS[1])");

type Opened = { readonly redis: Redis; readonly calls: RedisCall[]; readonly told: string[] };

function open(address: FleetRedis, password?: string, prefix = "test"): Opened {
  const calls: RedisCall[] = [];
  const told: string[] = [];
  const say = (fields: object, msg: string): void => void told.push(`${msg} ${JSON.stringify(fields)}`);
  const redis = new Redis(sampleFleet({ redis: address, prefix }), {
    clock: systemClock,
    log: { ...SILENT, info: say, warn: say },
    withoutKeys: String,
    password: password === undefined ? undefined : () => Promise.resolve(password),
    onCall: (call) => calls.push(call),
  });
  return { redis, calls, told };
}

async function isUp(redis: Redis): Promise<void> {
  await eventually("Redis is connected", () => redis.isUp);
}

/** All that a fleet asks of Redis. */
async function usesBoard(redis: Redis, prefix = "test"): Promise<void> {
  await isUp(redis);
  const board = new RedisFleetBoard(redis, { prefix });
  const caller = { session: "one#b.1", ttlMs: 10_000 };
  const beat = { ...caller, answeredAgoMs: undefined, info: "{}", version: "", wants: undefined };
  expect(await board.beat(beat)).toMatchObject({ opensInMs: 10_000 });
  const terms = { coldMs: 1_000, terms: "t", waitMs: 300 };
  const groups = [{ names: ["b:api", "u:users"], budgets: [{ budget: "api", ...terms }] }];
  expect(await board.claim({ ...caller, groups, retakes: true })).toMatchObject([
    { name: "b:api", waitMs: 300 },
    { name: "u:users" },
  ]);
  const records = new Map([["u:users", "{}"]]);
  expect(await board.tell({ ttlMs: 10_000, pauses: new Map(), resumed: [], records })).toBe(true);
  expect((await board.records())?.size).toBe(1);
  const quota = { budget: "api", of: "requests" } as const;
  const count = { quota, name: "", oldestHour: 0, counts: [{ hour: 7, from: 0, to: 3 }] };
  expect(await board.count(count)).toEqual({ own: new Map([[7, 3]]), total: 3 });
  const release = { ...caller, names: ["b:api", "u:users"], leasesEndInMs: {}, endsSession: true };
  expect(await board.release(release)).toBe(true);
}

test.skipIf(REDIS_SERVER === undefined)(
  "a call that is made before Redis was ever there fails at once, and later ones work",
  async () => {
    await using server = await RedisServer.start();
    await server.stop();
    const { redis, calls } = open(server.address);
    await using _ = redis;
    expect(await redis.run(COUNT, ["key"], [])).toEqual({ kind: "failed", failure: "away" });
    await server.restart();
    await isUp(redis);
    expect(await redis.run(COUNT, ["key"], [])).toEqual({ kind: "reply", value: 1 });
    // The server knows the script by now: it is sent in full once.
    expect(await redis.run(COUNT, ["key"], [])).toEqual({ kind: "reply", value: 2 });
    expect(calls.filter(({ call, failure }) => call === "count" && failure === undefined)).toHaveLength(2);
  },
);

test.skipIf(REDIS_SERVER === undefined)(
  "a server that stands still costs one deadline, and what it was asked is not asked twice",
  async () => {
    await using server = await RedisServer.start();
    const { redis, told } = open(server.address);
    await using _ = redis;
    await isUp(redis);
    const changes: boolean[] = [];
    redis.onChange((up) => changes.push(up));
    expect(await redis.run(COUNT, ["key"], [])).toEqual({ kind: "reply", value: 1 });
    server.halt();
    expect(await redis.run(COUNT, ["key"], [])).toEqual({ kind: "failed", failure: "timeout" });
    expect(redis.isUp).toBe(false);
    server.resume();
    await isUp(redis);
    expect(await redis.run(COUNT, ["key"], [])).toEqual({ kind: "reply", value: 3 });
    expect(changes).toEqual([false, true]);
    expect(told).toEqual(["Redis connected {}", "Redis unreachable {}", "Redis connected {}"]);
  },
);

test.skipIf(REDIS_SERVER === undefined)(
  "a connection that nothing comes back on is given up for a new one",
  async () => {
    await using server = await RedisServer.start();
    let connections = 0;
    const hole = createServer((socket) => {
      connections += 1;
      socket.on("error", () => {});
    }).listen(0, "127.0.0.1");
    await once(hole, "listening");
    const address = hole.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    const { redis } = open({
      ...server.address,
      nodes: { kind: "single", host: "127.0.0.1", port: address.port, database: 0 },
    });
    await eventually(
      "it connects again",
      () => connections,
      (count) => count > 1,
    );
    expect(redis.isUp).toBe(false);
    await redis.close();
    hole.close();
  },
);

test.skipIf(REDIS_SERVER === undefined)(
  "a user who may do what the board does, and nothing else, is enough; and a wrong password is told",
  async () => {
    const user = `user pacewatch on >${PASSWORD} ~test:* resetchannels -@all +eval +evalsha +ping +select +time +info +hset +hget +hmget +hgetall +hdel +hincrby +del +zadd +zrem +zscore +zcount +zrangebyscore +pexpire`;
    await using server = await RedisServer.start(...`--${user}`.split(" "), "--user", "default", "off");
    const address = { ...server.address, username: "pacewatch" };
    const right = open(address, PASSWORD);
    await usesBoard(right.redis);
    await right.redis.close();
    const wrong = open(address, "test-key-that-is-wrong");
    await eventually("the wrong password is told", () => wrong.told.length);
    expect(wrong.told.join(" ")).toContain("WRONGPASS");
    expect(wrong.told.join(" ")).not.toContain("test-key-that-is-wrong");
    await wrong.redis.close();
  },
);

test.skipIf(REDIS_SERVER === undefined)(
  "the user that the page of Kubernetes makes may do all that a fleet does",
  async () => {
    const page = await readFile("deploy/kubernetes/README.md", "utf8");
    const user = /ACL SETUSER (pacewatch .+)/.exec(page)?.[1]?.replace("PASSWORD", PASSWORD) ?? "";
    await using server = await RedisServer.start("--user", ...user.split(" "), "--user", "default", "off");
    const { redis, told } = open({ ...server.address, username: "pacewatch" }, PASSWORD, "pacewatch");
    await usesBoard(redis, "pacewatch");
    await redis.close();
    expect(told).toEqual(["Redis connected {}"]);
  },
);

test.skipIf(REDIS_SERVER === undefined)("over TLS, with a certificate on each side", async () => {
  const { ca, server: identity, client } = certificates();
  await using server = await RedisServer.start(
    "--tls-port",
    "PORT",
    "--port",
    "0",
    "--tls-cert-file",
    identity.certFile,
    "--tls-key-file",
    identity.keyFile,
    "--tls-ca-cert-file",
    ca.certFile,
  );
  const tls = {
    caFile: ca.certFile,
    certFile: client.certFile,
    keyFile: client.keyFile,
    serverName: undefined,
  };
  const { redis } = open({ ...server.address, tls });
  await using _ = redis;
  await usesBoard(redis);
  const distrusting = open({ ...server.address, tls: { ...tls, caFile: undefined } });
  await eventually("the unknown certificate is told", () => distrusting.told.length);
  expect(distrusting.told[0]).toContain("certificate");
  await distrusting.redis.close();
});

test.skipIf(REDIS_SERVER === undefined)("in a cluster, all keys of a budget are on one node", async () => {
  await using server = await RedisServer.startCluster();
  const cli = (...args: readonly string[]): Promise<unknown> =>
    promisify(execFile)("redis-cli", ["-p", String(server.port), ...args]);
  await cli("cluster", "addslotsrange", "0", "16383");
  const nodes = [{ host: "127.0.0.1", port: server.port }];
  const { redis } = open({ ...server.address, nodes: { kind: "cluster", nodes } });
  await using _ = redis;
  await usesBoard(redis);
  expect(redis.isUp).toBe(true);
});

test.skipIf(REDIS_SERVER === undefined)("by the word of the first sentinel that answers", async () => {
  await using master = await RedisServer.start();
  await using sentinel = await RedisServer.startSentinel("mymaster", master.port);
  const nodes = [
    { host: "127.0.0.1", port: 1 },
    { host: "127.0.0.1", port: sentinel.port },
  ];
  const known = open({ ...master.address, nodes: { kind: "sentinel", master: "mymaster", nodes } });
  await usesBoard(known.redis);
  await known.redis.close();
  const unknown = open({ ...master.address, nodes: { kind: "sentinel", master: "other", nodes } });
  await eventually("the unknown master is told", () => unknown.told.length);
  expect(unknown.told[0]).toContain("no sentinel knows");
  await unknown.redis.close();
});
