import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions, type TLSSocket } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { Redis } from "../../../src/adapters/redis/connection.ts";
import { redisScript } from "../../../src/adapters/redis/script.ts";
import type { FleetRedis } from "../../../src/core/config/config.ts";
import type { Clock } from "../../../src/core/time/clock.ts";
import { certificates } from "../../support/certificates.ts";
import { eventually } from "../../support/eventually.ts";
import { sampleFleet } from "../../support/samples.ts";

const COUNT = redisScript("count", "return redis.call('INCR', KEYS[1])");
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

/** Sleeps are short, whatever was asked for, and time stands where it is put. */
class StandingClock implements Clock {
  nowMs = 0;
  readonly sleepsMs: number[] = [];

  now(): number {
    return this.nowMs;
  }

  wallNow(): number {
    return this.nowMs;
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    this.sleepsMs.push(delayMs);
    return new Promise((resolve) => void setTimeout(resolve, 2));
  }
}

type Access = {
  readonly clock?: Clock;
  readonly password?: () => string;
  readonly username?: string;
  readonly tls?: FleetRedis["tls"];
};

type Opened = { readonly redis: Redis; readonly told: readonly string[] };

function openTold(nodes: FleetRedis["nodes"], access: Access = {}): Opened {
  const { clock = new StandingClock(), password, username, tls } = access;
  const told: string[] = [];
  const say = (fields: object, msg: string): void => void told.push(`${msg} ${JSON.stringify(fields)}`);
  const redis = new Redis(sampleFleet({ redis: { nodes, username, password: undefined, tls } }), {
    clock,
    log: { debug: () => {}, error: () => {}, info: say, warn: say },
    withoutKeys: String,
    password,
    onCall: () => {},
  });
  onTestFinished(() => redis.close());
  return { redis, told };
}

const open = (nodes: FleetRedis["nodes"], access?: Access): Redis => openTold(nodes, access).redis;

const single = (port: number): FleetRedis["nodes"] => ({
  kind: "single",
  host: "127.0.0.1",
  port,
  database: 0,
});

const isScript = ([name]: Command): boolean => name === "EVALSHA" || name === "EVAL";

test("a script that the server does not know is sent in full, one that it refuses is not sent again", async () => {
  const server = await serve((command) => {
    if (!isScript(command)) return UNKNOWN;
    if (command.includes("refused")) return "-OOM no memory\r\n";
    return command[0] === "EVAL" ? ":7\r\n" : "-NOSCRIPT no matching script\r\n";
  });
  const redis = open(single(server.port));
  await eventually("Redis is connected", () => redis.isUp);
  expect(await redis.run(COUNT, ["known", "second"], ["1", "x"])).toEqual({ kind: "reply", value: 7 });
  expect(server.commands.filter((command) => command.includes("known"))).toEqual([
    ["EVALSHA", COUNT.sha, "2", "known", "second", "1", "x"],
    ["EVAL", COUNT.body, "2", "known", "second", "1", "x"],
  ]);
  expect(await redis.run(COUNT, ["refused"], [])).toEqual({ kind: "failed", failure: "refused" });
  expect(server.commands.filter((command) => command.includes("refused"))).toHaveLength(1);
});

test("who has a name and a password tells them, and who has none tells none", async () => {
  const server = await serve((command) => {
    if (command[0] === "AUTH") return "+OK\r\n";
    return isScript(command) ? ":1\r\n" : UNKNOWN;
  });
  const auth = (): readonly Command[] => server.commands.filter(([name]) => name === "AUTH");
  const bare = open(single(server.port));
  await eventually("Redis is connected", () => bare.isUp);
  expect(auth()).toEqual([]);
  const secured = open(single(server.port), {
    password: () => "test-password-1",
    username: "watcher",
  });
  await eventually("Redis is connected", () => secured.isUp);
  expect(auth()).toEqual([["AUTH", "watcher", "test-password-1"]]);
});

test("a connection that comes after hours is given its time to answer", async () => {
  const clock = new StandingClock();
  const server = await serve((command) => (isScript(command) ? undefined : UNKNOWN));
  clock.nowMs = 7_200_000;
  open(single(server.port), { clock });
  clock.nowMs = 14_400_000;
  // By then the connection was looked at, and would have been given up for the hours before it.
  await eventually("it was pinged three times", () => server.commands.filter(isScript).length >= 3);
  expect(server.connections()).toBe(1);
});

/** The last slot of the lower half. */
const HALF = 8_191;

test("in a cluster the first key says whom to ask", async () => {
  const asked: string[] = [];
  const half = (name: string): Promise<Server> =>
    serve((command) => {
      if (command[0] === "CLUSTER") return slots(lower.port, upper.port);
      if (!isScript(command)) return UNKNOWN;
      if (command.includes("of-the-test")) asked.push(`${name} ${command[3] ?? ""}`);
      return ":1\r\n";
    });
  const [lower, upper]: [Server, Server] = [await half("lower"), await half("upper")];
  const redis = open({ kind: "cluster", nodes: [{ host: "127.0.0.1", port: lower.port }] });
  await eventually("Redis is connected", () => redis.isUp);
  // By CRC16, "b" is slot 3300 and "a" 15495.
  await redis.run(COUNT, ["b", "a"], ["of-the-test"]);
  await redis.run(COUNT, ["a", "b"], ["of-the-test"]);
  expect(asked).toEqual(["lower b", "upper a"]);
});

test("a cluster is asked whether all of it stands still where one master is away, and nobody else is", async () => {
  const server: Server = await serve((command) => {
    if (command[0] === "CLUSTER") return slots(server.port, server.port);
    if (command[0] === "CONFIG") return "*2\r\n$29\r\ncluster-require-full-coverage\r\n$3\r\nyes\r\n";
    return isScript(command) ? ":1\r\n" : UNKNOWN;
  });
  const isAsked = (name: string): boolean => server.commands.some(([command]) => command === name);
  const alone = open(single(server.port));
  await eventually("it is asked what it has", () => isAsked("INFO"));
  await alone.run(COUNT, ["key"], []);
  expect(isAsked("CONFIG")).toBe(false);
  const nodes = [{ host: "127.0.0.1", port: server.port }];
  const { told } = openTold({ kind: "cluster", nodes });
  await eventually("it is told", () =>
    told.some((line) => line.includes("cluster-require-full-coverage yes")),
  );
});

/** Of a cluster of two, in RESP2. */
function slots(lowerPort: number, upperPort: number): string {
  const range = (from: number, to: number, port: number): string =>
    `*3\r\n:${from}\r\n:${to}\r\n*3\r\n$9\r\n127.0.0.1\r\n:${port}\r\n$40\r\n${String(port).padStart(40, "0")}\r\n`;
  return `*2\r\n${range(0, HALF, lowerPort)}${range(HALF + 1, 16_383, upperPort)}`;
}

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
  const openOver = (tls: FleetRedis["tls"]): Redis => open(single(server.port), { tls });
  const redis = openOver({ ...files, serverName: "elsewhere.test" });
  await eventually("Redis is connected", () => redis.isUp);
  expect(seen).toEqual([["elsewhere.test", true]]);
  const { connections } = server;
  const refused = [
    openOver({ ...files, serverName: undefined }),
    openOver({ ...files, serverName: "elsewhere.test", caFile: undefined }),
    openOver({ ...files, serverName: "elsewhere.test", certFile: undefined, keyFile: undefined }),
  ];
  await eventually("each has tried", () => connections() > 20);
  expect(refused.map(({ isUp }) => isUp)).toEqual([false, false, false]);
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
  await eventually("Redis is connected", () => redis.isUp);
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
  await eventually("Redis is connected", () => redis.isUp);
  expect(silent.commands[0]).toEqual(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster"]);
});

test("a connection on which no password was ever acknowledged is given up for another one", async () => {
  let isSilent = true;
  const server = await serve((command) => {
    if (isSilent) return undefined;
    if (command[0] === "AUTH") return "+OK\r\n";
    return isScript(command) ? ":1\r\n" : UNKNOWN;
  });
  const redis = open(single(server.port), { password: () => "test-password-1" });
  await eventually("a password was told", () => server.commands.length);
  isSilent = false;
  await eventually("Redis is connected", () => redis.isUp);
  expect(server.connections()).toBeGreaterThan(1);
});

test("whoever waits for Redis hears of it once, when it is there, and once when it is gone", async () => {
  let isWell = true;
  const server = await serve((command) => {
    if (!isScript(command)) return UNKNOWN;
    return isWell ? ":1\r\n" : "-NOREPLICAS not enough of them\r\n";
  });
  const clock = new StandingClock();
  const redis = open(single(server.port), { clock });
  const heard: boolean[] = [];
  redis.onChange((isUp) => heard.push(isUp));
  await eventually("Redis is connected", () => redis.isUp);
  for (let idle = 0; idle < 3; idle += 1) {
    const before = server.commands.length;
    clock.nowMs += 2_000;
    await eventually("it is pinged again", () => server.commands.length > before);
  }
  isWell = false;
  for (let asked = 0; asked < 3; asked += 1) await redis.run(COUNT, ["key"], []);
  expect(heard.at(-1)).toBe(false);
  // A slow machine may have lost it meanwhile, and found it again.
  expect(heard.filter((isUp, index) => isUp !== (index % 2 === 0))).toEqual([]);
});

test("the longer Redis is away, the less often a connection is tried, up to once a second", async () => {
  const clock = new StandingClock();
  open(single(1), { clock });
  // The rest of what is waited for is the time between two looks whether there is a connection to ping.
  const triesMs = (): readonly number[] => clock.sleepsMs.filter((ms) => ms !== 250);
  await eventually("it has tried often", () => triesMs().length >= 7);
  expect(triesMs().slice(0, 7)).toEqual([50, 100, 200, 400, 800, 1_000, 1_000]);
});

test("a server that is no master any more is left at once for whoever is, and soon, however long it took before", async () => {
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
    await eventually("Redis is connected", () => redis.isUp);
    isMaster = false;
    expect(await redis.run(COUNT, ["key"], [])).toEqual({ kind: "failed", failure: "refused" });
    // What was refused is believed to be well only some time later.
    clock.nowMs += 60_000;
    await eventually("it has connected again", () => server.connections() > times);
  }
  expect(new Set(clock.sleepsMs.filter((ms) => ms < 250))).toEqual(new Set([50]));
  // Each connection is asked what its server lacks, and that is told once.
  expect(told.filter((line) => line.startsWith("Redis has replicas, but"))).toHaveLength(1);
});

test("a connection that is lost is told, and that it is back; what stops in order tells nothing", async () => {
  const server = await serve((command) => (isScript(command) ? ":1\r\n" : UNKNOWN));
  const clock = new StandingClock();
  const { redis, told } = openTold(single(server.port), { clock });
  await eventually("Redis is connected", () => redis.isUp);
  // It was no flap.
  clock.nowMs += 60_000;
  server.drop();
  await eventually("it is told", () => told.length > 1);
  await eventually("Redis is connected", () => redis.isUp);
  await redis.close();
  expect(told).toEqual(["Redis connected {}", "Redis unreachable {}", "Redis connected {}"]);
});

test("a server that refuses everything keeps its connection, and each kind of its refusals is told once", async () => {
  const clock = new StandingClock();
  const refusals = ["OOM first", "OOM second", "NOREPLICAS third"];
  let refused = 0;
  const server = await serve((command) =>
    isScript(command) ? `-${refusals[refused++ % refusals.length] ?? ""}\r\n` : UNKNOWN,
  );
  const { redis, told } = openTold(single(server.port), { clock });
  for (let second = 0; second < 6; second += 1) {
    const before = refused;
    clock.nowMs += 1_000;
    await eventually("it is pinged again", () => refused > before);
  }
  expect(server.connections()).toBe(1);
  expect(redis.isUp).toBe(false);
  expect(told).toEqual([
    'Redis command failed {"problem":"OOM first"}',
    'Redis command failed {"problem":"NOREPLICAS third"}',
  ]);
});

test("a connection on which nothing comes back for two seconds is given up for another one", async () => {
  const clock = new StandingClock();
  const server = await serve((command) => (isScript(command) ? undefined : UNKNOWN));
  open(single(server.port), { clock });
  await eventually("it is pinged", () => server.commands.some(isScript));
  clock.nowMs += 2_001;
  const connections = await eventually("it connects again", server.connections, (count) => count > 1);
  expect(connections).toBeGreaterThan(1);
});
