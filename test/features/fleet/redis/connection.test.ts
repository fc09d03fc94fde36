import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions, type TLSSocket } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { Redis } from "../../../../src/features/fleet/redis/connection.ts";
import type { LockRedis } from "../../../../src/features/fleet/config.ts";
import type { Clock } from "../../../../src/kernel/time/clock.ts";
import { certificates } from "../../../support/certificates.ts";
import { eventually } from "../../../support/eventually.ts";
import { sampleLockRedis } from "../../../support/samples.ts";

const COUNT = "return redis.call('INCR', KEYS[1])";
const UNKNOWN = "-ERR unknown command\r\n";

type Command = readonly string[];

type Server = {
  readonly port: number;
  readonly connections: () => number;
  readonly commands: readonly Command[];
  /** Ends all connections. */
  readonly drop: () => void;
};

/** Answers each command as it is told; undefined is silence. */
async function serve(
  answer: (command: Command) => string | undefined,
  tls?: TlsOptions & { readonly onSecure: (socket: TLSSocket) => void },
): Promise<Server> {
  const sockets = new Set<Socket>();
  const commands: Command[] = [];
  let connections = 0;
  const heard = (socket: Socket): void => {
    sockets.add(socket);
    let received = "";
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
      for (let read = readCommand(received); read !== undefined; read = readCommand(received)) {
        received = received.slice(read.length);
        commands.push(read.command);
        const text = answer(read.command);
        if (text !== undefined) socket.write(text);
      }
    });
  };
  const server = tls === undefined ? createServer(heard) : createTlsServer(tls, heard);
  if (tls !== undefined) server.on("secureConnection", tls.onSecure);
  server.on("connection", () => (connections += 1)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const drop = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    drop();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("it has no port");
  return { port: address.port, connections: () => connections, commands, drop };
}

/** An array of strings by the rules of RESP2; undefined while it is not complete. */
function readCommand(text: string): { readonly command: Command; readonly length: number } | undefined {
  const head = /^\*(\d+)\r\n/.exec(text);
  if (head === null) return undefined;
  let at = head[0].length;
  const command: string[] = [];
  for (let left = Number(head[1]); left > 0; left -= 1) {
    const size = /^\$(\d+)\r\n/.exec(text.slice(at));
    if (size === null) return undefined;
    const from = at + size[0].length;
    const to = from + Number(size[1]);
    if (text.length < to + 2) return undefined;
    command.push(text.slice(from, to));
    at = to + 2;
  }
  return { command, length: at };
}

/** Time stands where it is put. */
class StandingClock implements Clock {
  nowMs = 0;

  now(): number {
    return this.nowMs;
  }

  wallNow(): number {
    return this.nowMs;
  }

  sleep(): Promise<void> {
    return Promise.reject(new Error("it never sleeps"));
  }
}

/** A busy machine takes seconds for a connection. */
const DEADLINE_MS = 10_000;

/** Whether it answers now. */
const isUp = (redis: Redis): Promise<boolean> =>
  redis.run(COUNT, "probe").then(
    () => true,
    () => false,
  );

type Access = {
  readonly clock?: Clock;
  readonly password?: () => string;
  readonly username?: string;
  readonly tls?: LockRedis["tls"];
  /** Where an answer never comes. */
  readonly deadlineMs?: number;
};

type Opened = { readonly redis: Redis; readonly told: readonly string[] };

function openTold(nodes: LockRedis["nodes"], access: Access = {}): Opened {
  const { clock = new StandingClock(), password, username, tls, deadlineMs = DEADLINE_MS } = access;
  const told: string[] = [];
  const say = (fields: object, msg: string): void => void told.push(`${msg} ${JSON.stringify(fields)}`);
  const redis = new Redis(sampleLockRedis({ nodes, username, tls }), {
    clock,
    log: { debug: () => {}, error: () => {}, info: say, warn: say },
    withoutKeys: String,
    password,
    deadlineMs,
  });
  onTestFinished(() => redis[Symbol.asyncDispose]());
  return { redis, told };
}

const open = (nodes: LockRedis["nodes"], access?: Access): Redis => openTold(nodes, access).redis;

const single = (port: number): LockRedis["nodes"] => ({
  kind: "single",
  url: `redis://127.0.0.1:${port}`,
});

const isScript = ([name]: Command): boolean => name === "EVAL";

test("a script is sent with its key and arguments, and one that is refused is not sent again", async () => {
  const server = await serve((command) => {
    if (!isScript(command)) return UNKNOWN;
    if (command.includes("refused")) return "-OOM no memory\r\n";
    return ":7\r\n";
  });
  const redis = open(single(server.port));
  await eventually("Redis is connected", () => isUp(redis));
  expect(await redis.run(COUNT, "known", "1", "x")).toBe(7);
  expect(server.commands.filter((command) => command.includes("known"))).toEqual([
    ["EVAL", COUNT, "1", "known", "1", "x"],
  ]);
  await expect(redis.run(COUNT, "refused")).rejects.toThrow("OOM no memory");
  expect(server.commands.filter((command) => command.includes("refused"))).toHaveLength(1);
});

test("who has a name and a password tells them, and who has none tells none", async () => {
  const server = await serve((command) => {
    if (command[0] === "AUTH") return "+OK\r\n";
    return isScript(command) ? ":1\r\n" : UNKNOWN;
  });
  const auth = (): readonly Command[] => server.commands.filter(([name]) => name === "AUTH");
  const bare = open(single(server.port));
  await eventually("Redis is connected", () => isUp(bare));
  expect(auth()).toEqual([]);
  const secured = open(single(server.port), {
    password: () => "test-password-1",
    username: "watcher",
  });
  await eventually("Redis is connected", () => isUp(secured));
  expect(auth()).toEqual([["AUTH", "watcher", "test-password-1"]]);
});

test("over TLS, the server is known by the name and the authority that are configured, and we by our certificate", async () => {
  const { ca, wrongHost, client } = certificates();
  const seen: unknown[] = [];
  const server = await serve((command) => (isScript(command) ? ":1\r\n" : UNKNOWN), {
    cert: wrongHost.cert,
    key: wrongHost.key,
    ca: ca.cert,
    requestCert: true,
    rejectUnauthorized: true,
    onSecure: (socket) => void seen.push([socket.servername, socket.authorized]),
  });
  const files = { caFile: ca.certFile, certFile: client.certFile, keyFile: client.keyFile };
  const openOver = (tls: LockRedis["tls"]): Redis =>
    open({ kind: "single", url: `rediss://127.0.0.1:${server.port}` }, { tls });
  const redis = openOver({ ...files, serverName: "elsewhere.test" });
  await eventually("Redis is connected", () => isUp(redis));
  expect(seen).toEqual([["elsewhere.test", true]]);
  const { connections } = server;
  const refused = [
    openOver({ ...files, serverName: undefined }),
    openOver({ ...files, serverName: "elsewhere.test", caFile: undefined }),
    openOver({ ...files, serverName: "elsewhere.test", certFile: undefined, keyFile: undefined }),
  ];
  const ups: boolean[] = [];
  await eventually("each has tried", async () => {
    ups.push(...(await Promise.all(refused.map(isUp))));
    return connections() > 20;
  });
  expect(new Set(ups)).toEqual(new Set([false]));
});

test.each([
  ["no list", ":7\r\n"],
  ["a port that is no text", "*2\r\n$9\r\n127.0.0.1\r\n:7\r\n"],
  ["no host", "*1\r\n:7\r\n"],
])("a sentinel that answers with %s is passed over", async (_, answer) => {
  const master = await serve((command) => (isScript(command) ? ":1\r\n" : UNKNOWN));
  const wrong = await serve(() => answer);
  const right = await serve(
    () => `*2\r\n$9\r\n127.0.0.1\r\n$${String(master.port).length}\r\n${master.port}\r\n`,
  );
  const nodes = [wrong, right].map(({ port }) => ({ host: "127.0.0.1", port }));
  const redis = open({ kind: "sentinel", master: "mymaster", nodes });
  await eventually("Redis is connected", () => isUp(redis));
  expect(wrong.commands.length).toBeGreaterThan(0);
});

test("a sentinel that takes a question and never answers it is passed over", async () => {
  const master = await serve((command) => (isScript(command) ? ":1\r\n" : UNKNOWN));
  const silent = await serve(() => undefined);
  const answering = await serve(
    () => `*2\r\n$9\r\n127.0.0.1\r\n$${String(master.port).length}\r\n${master.port}\r\n`,
  );
  const nodes = [silent, answering].map(({ port }) => ({ host: "127.0.0.1", port }));
  const redis = open({ kind: "sentinel", master: "mymaster", nodes });
  await eventually("Redis is connected", () => isUp(redis));
  expect(silent.commands[0]).toEqual(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster"]);
});

test("a connection on which no password was ever acknowledged is given up for another one", async () => {
  let isSilent = true;
  const server = await serve((command) => {
    if (isSilent) return undefined;
    if (command[0] === "AUTH") return "+OK\r\n";
    return isScript(command) ? ":1\r\n" : UNKNOWN;
  });
  const redis = open(single(server.port), { password: () => "test-password-1", deadlineMs: 200 });
  await eventually("a password was told", async () => !(await isUp(redis)) && server.commands.length > 0);
  isSilent = false;
  await eventually("Redis is connected", () => isUp(redis));
  expect(server.connections()).toBeGreaterThan(1);
});

test("a deadline that is no whole number of milliseconds is one all the same", async () => {
  const server = await serve((command) => (isScript(command) ? ":1\r\n" : UNKNOWN));
  const redis = open(single(server.port), { deadlineMs: DEADLINE_MS + 0.5 });
  await eventually("Redis is connected", () => isUp(redis));
  expect(server.connections()).toBe(1);
});

test("whoever asks while a connection is begun shares it, and none is begun where nobody asks", async () => {
  const server = await serve((command) => (isScript(command) ? ":1\r\n" : UNKNOWN));
  const redis = open(single(server.port));
  expect(server.connections()).toBe(0);
  await eventually("Redis is connected", async () =>
    (await Promise.all([isUp(redis), isUp(redis), isUp(redis)])).every(Boolean),
  );
  expect(server.connections()).toBe(1);
});

test("a server that is no master any more is left at once for whoever is", async () => {
  const clock = new StandingClock();
  let isMaster = true;
  const server = await serve((command) => {
    if (command[1] === "replication") return "$18\r\nconnected_slaves:1\r\n";
    if (!isScript(command)) return UNKNOWN;
    if (isMaster) return ":1\r\n";
    isMaster = true;
    return "-READONLY You can't write against a read only replica.\r\n";
  });
  const { redis, told } = openTold(single(server.port), { clock });
  for (let times = 1; times <= 4; times += 1) {
    await eventually("Redis is connected", () => isUp(redis));
    expect(server.connections()).toBe(times);
    isMaster = false;
    await expect(redis.run(COUNT, "key")).rejects.toThrow("READONLY");
    clock.nowMs += 60_000;
  }
  // Each connection is asked what its server lacks, and that is told once.
  expect(told.filter((line) => line.startsWith("Redis has replicas, but"))).toHaveLength(1);
});

test("a connection that is lost is told, and that it is back; what stops in order tells nothing", async () => {
  const server = await serve((command) => (isScript(command) ? ":1\r\n" : UNKNOWN));
  const clock = new StandingClock();
  const { redis, told } = openTold(single(server.port), { clock });
  await eventually("Redis is connected", () => isUp(redis));
  server.drop();
  await eventually("it is told", () => told.length > 1);
  await eventually("Redis is connected", () => isUp(redis));
  // One that comes and goes is not told of each time.
  expect(told).toHaveLength(2);
  clock.nowMs += 60_000;
  await isUp(redis);
  await redis[Symbol.asyncDispose]();
  expect(told).toEqual([
    "Redis connected {}",
    'Redis unreachable {"problem":"the connection was lost"}',
    "Redis connected {}",
  ]);
});

test("a server that refuses everything keeps its connection, and each kind of its refusals is told once", async () => {
  const clock = new StandingClock();
  const refusals = ["OOM first", "OOM second", "NOREPLICAS third"];
  let refused = 0;
  const server = await serve((command) =>
    isScript(command) ? `-${refusals[refused++ % refusals.length] ?? ""}\r\n` : UNKNOWN,
  );
  const { redis, told } = openTold(single(server.port), { clock });
  await eventually("it is connected", async () => !(await isUp(redis)) && refused > 0);
  for (let second = 0; second < 60; second += 1) {
    clock.nowMs += 1_000;
    expect(await isUp(redis)).toBe(false);
  }
  expect(server.connections()).toBe(1);
  expect(told).toEqual([
    'Redis command failed {"problem":"OOM first"}',
    'Redis command failed {"problem":"NOREPLICAS third"}',
  ]);
});

test("a connection on which nothing comes back in time is given up for another one", async () => {
  const server = await serve((command) => (isScript(command) ? undefined : UNKNOWN));
  const redis = open(single(server.port), { deadlineMs: 200 });
  await eventually("it is asked", async () => !(await isUp(redis)) && server.commands.some(isScript));
  const before = server.connections();
  const after = await eventually(
    "it connects again",
    async () => {
      await isUp(redis);
      return server.connections();
    },
    (count) => count > before,
  );
  expect(after).toBeGreaterThan(before);
});
