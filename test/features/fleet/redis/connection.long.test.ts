import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { expect, test } from "vitest";
import { systemClock } from "../../../../src/platform/clock.ts";
import { RedisRegister } from "../../../../src/features/fleet/redis/register.ts";
import { Redis } from "../../../../src/features/fleet/redis/connection.ts";
import type { LockRedis } from "../../../../src/features/fleet/config.ts";
import { certificates } from "../../../support/certificates.ts";
import { eventually } from "../../../support/eventually.ts";
import { sampleLockRedis } from "../../../support/samples.ts";
import { REDIS_SERVER, RedisServer } from "../../../support/processes/redis-server.ts";

const PASSWORD = "test-key-of-redis";
const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const READ = "return redis.call('GET', KEYS[1])";
const COUNT = "return redis.call('INCR', KEYS[1])";

type Opened = { readonly redis: Redis; readonly told: string[] };

function open(address: LockRedis, password?: string, key = "test"): Opened {
  const told: string[] = [];
  const say = (fields: object, msg: string): void => void told.push(`${msg} ${JSON.stringify(fields)}`);
  const redis = new Redis(sampleLockRedis({ ...address, key }), {
    clock: systemClock,
    log: { ...SILENT, info: say, warn: say },
    withoutKeys: String,
    password: password === undefined ? undefined : () => Promise.resolve(password),
    deadlineMs: 500,
  });
  return { redis, told };
}

async function isUp(redis: Redis, key = "test"): Promise<void> {
  const answer = (): Promise<boolean> =>
    redis.run(READ, key).then(
      () => true,
      () => false,
    );
  await eventually("Redis answers", answer);
}

/** It is asked until what is wrong is told. */
async function refused({ redis, told }: Opened, what: string): Promise<void> {
  await eventually(what, async () => {
    await redis.run(READ, "test").catch(() => {});
    return told.length;
  });
}

/** All that a fleet asks of Redis. */
async function usesLock(redis: Redis, key = "test"): Promise<void> {
  await isUp(redis, key);
  for (const register of [new RedisRegister(redis, key), new RedisRegister(redis, `${key}:notes`)]) {
    const { value, version } = await register.read();
    expect(value).toBeUndefined();
    expect(await register.write("held", version)).toMatchObject({ kind: "written" });
    expect(await register.read()).toMatchObject({ value: "held", isSure: true });
  }
}

test.skipIf(REDIS_SERVER === undefined)(
  "a call that is made before Redis was ever there fails at once, and later ones work",
  async () => {
    await using server = await RedisServer.start();
    await server.stop();
    const { redis } = open(server.address);
    await using _ = redis;
    await expect(redis.run(COUNT, "key")).rejects.toThrow("ECONNREFUSED");
    await server.restart();
    await isUp(redis);
    expect(await redis.run(COUNT, "key")).toBe(1);
    expect(await redis.run(COUNT, "key")).toBe(2);
  },
);

test.skipIf(REDIS_SERVER === undefined)(
  "a server that stands still costs one deadline, and what it was asked is not asked twice",
  async () => {
    await using server = await RedisServer.start();
    const { redis, told } = open(server.address);
    await using _ = redis;
    await isUp(redis);
    expect(await redis.run(COUNT, "key")).toBe(1);
    server.halt();
    await expect(redis.run(COUNT, "key")).rejects.toThrow("no answer in time");
    server.resume();
    await isUp(redis);
    expect(await redis.run(COUNT, "key")).toBe(3);
    expect(told).toEqual(["Redis connected {}", 'Redis unreachable {"problem":"no answer in time"}']);
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
      nodes: { kind: "single", url: `redis://127.0.0.1:${address.port}` },
    });
    const again = await eventually("it connects again", async () => {
      await redis.run(COUNT, "key").catch(() => {});
      return connections > 1;
    });
    expect(again).toBe(true);
    await redis[Symbol.asyncDispose]();
    hole.close();
  },
);

test.skipIf(REDIS_SERVER === undefined)(
  "a user who may do what the lock does, and nothing else, is enough; and a wrong password is told",
  async () => {
    const user = `user pacewatch on >${PASSWORD} ~test ~test:* resetchannels -@all +eval +select +info +get +set`;
    await using server = await RedisServer.start(...`--${user}`.split(" "), "--user", "default", "off");
    const address = { ...server.address, username: "pacewatch" };
    const right = open(address, PASSWORD);
    await usesLock(right.redis);
    await right.redis[Symbol.asyncDispose]();
    const wrong = open(address, "test-key-that-is-wrong");
    await refused(wrong, "the wrong password is told");
    expect(wrong.told.join(" ")).toContain("WRONGPASS");
    expect(wrong.told.join(" ")).not.toContain("test-key-that-is-wrong");
    await wrong.redis[Symbol.asyncDispose]();
  },
);

test.skipIf(REDIS_SERVER === undefined)(
  "the user that the page of Kubernetes makes may do all that a fleet does",
  async () => {
    const page = await readFile("deploy/kubernetes/README.md", "utf8");
    const user = /ACL SETUSER (pacewatch .+)/.exec(page)?.[1]?.replace("PASSWORD", PASSWORD) ?? "";
    await using server = await RedisServer.start("--user", ...user.split(" "), "--user", "default", "off");
    const { redis, told } = open({ ...server.address, username: "pacewatch" }, PASSWORD, "pacewatch");
    await usesLock(redis, "pacewatch");
    await redis[Symbol.asyncDispose]();
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
  const nodes = { kind: "single", url: `rediss://127.0.0.1:${server.port}` } as const;
  const { redis } = open({ ...server.address, nodes, tls });
  await using _ = redis;
  await usesLock(redis);
  const distrusting = open({ ...server.address, nodes, tls: { ...tls, caFile: undefined } });
  await refused(distrusting, "the unknown certificate is told");
  expect(distrusting.told[0]).toContain("certificate");
  await distrusting.redis[Symbol.asyncDispose]();
});

test.skipIf(REDIS_SERVER === undefined)("by the word of the first sentinel that answers", async () => {
  await using master = await RedisServer.start();
  await using sentinel = await RedisServer.startSentinel("mymaster", master.port);
  const nodes = [
    { host: "127.0.0.1", port: 1 },
    { host: "127.0.0.1", port: sentinel.port },
  ];
  const known = open({ ...master.address, nodes: { kind: "sentinel", master: "mymaster", nodes } });
  await usesLock(known.redis);
  await known.redis[Symbol.asyncDispose]();
  const unknown = open({ ...master.address, nodes: { kind: "sentinel", master: "other", nodes } });
  await refused(unknown, "the unknown master is told");
  expect(unknown.told[0]).toContain("no sentinel knows");
  await unknown.redis[Symbol.asyncDispose]();
});
