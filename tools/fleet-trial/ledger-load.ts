import { once } from "node:events";
import { connect } from "node:net";
import { systemClock } from "../../src/adapters/clock.ts";
import { Redis } from "../../src/adapters/redis/connection.ts";
import { RedisLedger } from "../../src/adapters/redis/ledger.ts";
import type { SharedTerms } from "../../src/core/fleet/ledger-store.ts";
import { RedisServer } from "../../test/support/processes/redis-server.ts";
import { say } from "./say.ts";

/** Polls that are on their way at once, over all connections. */
const AT_ONCE = 64;

type LoadShape = {
  readonly connections: number;
  readonly budgets: number;
  readonly perMs: number;
  readonly runMs: number;
};

/** A poll is one take and one settle. */
type LoadSeen = LoadShape & {
  readonly pollsPerSecond: number;
  /** Of the one thread that serves all, and of this process, which does nothing else. */
  readonly redisMicrosPerPoll: number;
  readonly ourMicrosPerPoll: number;
  readonly redisBusy: number;
  readonly redisMegabytes: number;
};

/** As many polls as go through, with the real scripts on a real Redis; the limits are far away. */
async function loadLedger(shape: LoadShape): Promise<LoadSeen> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await RedisServer.start());
  const ledgers: RedisLedger[] = [];
  for (let index = 0; index < shape.connections; index += 1) {
    const redis = stack.use(openRedis(server));
    while (!redis.isUp) await systemClock.sleep(10, new AbortController().signal);
    ledgers.push(new RedisLedger(redis, "trial"));
  }
  const terms = Array.from({ length: shape.budgets }, (_, index) => termsOf(`budget-${index}`, shape.perMs));
  for (const each of terms) await ledgers[0]?.look(each, false);
  // A budget that is new refuses until whatever was sent before can be counted no more.
  const signal = new AbortController().signal;
  await systemClock.sleep(shape.perMs + 200, signal);

  const before = await usageOf(server.port);
  const cpuBefore = process.cpuUsage();
  const fromMs = performance.now();
  let polls = 0;
  const work = async (worker: number): Promise<void> => {
    const ledger = ledgers[worker % ledgers.length];
    for (let turn = 0; performance.now() - fromMs < shape.runMs; turn += 1) {
      const each = terms[(worker + turn * AT_ONCE) % terms.length];
      if (ledger === undefined || each === undefined) throw new Error("nothing to ask, or nobody");
      const lease = `replica#1.${worker}.${turn}`;
      const taken = await ledger.take([each], lease);
      if (taken.kind === "away" || taken.answer.waits.length > 0) {
        throw new Error(`no lease was granted: ${JSON.stringify(taken)}`);
      }
      const settled = await ledger.report(each, [
        { kind: "settled", lease, settlement: "answered", heldMs: 1, agoMs: 0 },
      ]);
      if (settled.kind === "away") throw new Error("a lease was not settled");
      polls += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, worker) => work(worker)));
  const elapsedMs = performance.now() - fromMs;
  const cpu = process.cpuUsage(cpuBefore);
  const after = await usageOf(server.port);
  return {
    ...shape,
    pollsPerSecond: (polls * 1_000) / elapsedMs,
    redisMicrosPerPoll: ((after.cpuS - before.cpuS) * 1e6) / polls,
    ourMicrosPerPoll: (cpu.user + cpu.system) / polls,
    redisBusy: ((after.cpuS - before.cpuS) * 1_000) / elapsedMs,
    redisMegabytes: after.bytes / 2 ** 20,
  };
}

function openRedis(server: RedisServer): Redis {
  return new Redis(
    {
      redis: server.address,
      mode: "shard",
      replicas: 3,
      reserve: 0,
      ttlMs: 10_000,
      name: "trial",
      advertise: undefined,
      prefix: "trial",
    },
    {
      clock: systemClock,
      log: { debug: silent, info: silent, warn: silent, error: silent },
      onCall: silent,
      withoutKeys: String,
      password: undefined,
    },
  );
}

function silent(): void {}

function termsOf(budget: string, perMs: number): SharedTerms {
  return {
    replica: "replica",
    budget,
    rates: [{ perMs, cap: 10_000 * perMs, aside: 0 }],
    share: 1,
    maxPauseMs: 3_600_000,
    lingerMs: 0,
    holdMs: 100,
    quota: undefined,
  };
}

/** What it used of the processor so far, and of memory now. */
async function usageOf(port: number): Promise<{ readonly cpuS: number; readonly bytes: number }> {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.on("data", (chunk: Buffer) => void (text += chunk.toString()));
  socket.end("INFO CPU\r\nINFO MEMORY\r\n");
  await once(socket, "close");
  const numberOf = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, "m").exec(text)?.[1]);
  return {
    cpuS: numberOf("used_cpu_user") + numberOf("used_cpu_sys"),
    bytes: numberOf("used_memory"),
  };
}

const SHAPES: readonly LoadShape[] = [
  { connections: 1, budgets: 1, perMs: 1_000, runMs: 5_000 },
  { connections: 3, budgets: 1, perMs: 1_000, runMs: 5_000 },
  { connections: 3, budgets: 100, perMs: 1_000, runMs: 5_000 },
  { connections: 3, budgets: 1, perMs: 10_000, runMs: 15_000 },
];

/** No promise is at stake: it can only be slow. */
export async function tellLoads(): Promise<readonly string[]> {
  for (const shape of SHAPES) {
    const seen = await loadLedger(shape);
    const busy = `${(seen.redisBusy * 100).toFixed(0)}% of a core`;
    say(
      `ledger: ${shape.connections} connections, ${shape.budgets} budgets, windows of ${shape.perMs / 1_000} s: ` +
        `${seen.pollsPerSecond.toFixed(0)} polls/s, each ${seen.redisMicrosPerPoll.toFixed(0)} µs of Redis ` +
        `(${busy}, ${seen.redisMegabytes.toFixed(1)} MB) and ${seen.ourMicrosPerPoll.toFixed(0)} µs of the replica`,
    );
  }
  return [];
}
