import { createClient } from "@redis/client";
import { ledgerScripts, RedisLedger } from "../../src/adapters/redis/ledger.ts";
import type { RedisScript } from "../../src/adapters/redis/script.ts";
import type { Config, Fleet } from "../../src/core/config/config.ts";
import { LocalLedger } from "../../src/core/budget/local-ledger.ts";
import type { RunningLedger } from "../../src/core/budget/ledger.ts";
import type { LedgerStore } from "../../src/core/fleet/ledger-store.ts";
import { SharedLedger } from "../../src/engine/fleet/shared-ledger.ts";
import { RedisServer } from "./processes/redis-server.ts";
import { VirtualClock } from "./virtual/clock.ts";
import { VirtualRedis, VirtualStore } from "./virtual/redis.ts";

/** In front of a script: the server's clock is what a key says. */
export const TOLD_CLOCK = `
local now, run = string.match(redis.call('GET', 'clock'), '^(%S+) (%S+)$')
now = tonumber(now)
`;

export function sampleFleet(changes: Partial<Fleet> = {}): Fleet {
  return {
    redis: {
      nodes: { kind: "single", host: "127.0.0.1", port: 9, database: 0 },
      username: undefined,
      password: undefined,
      tls: undefined,
    },
    mode: "everywhere",
    replicas: 1,
    reserve: 0,
    ttlMs: 10_000,
    name: "one",
    advertise: undefined,
    prefix: "test",
    ...changes,
  };
}

/** A ledger of some kind, and time that passes only when told to. */
export type LedgerWorld = AsyncDisposable & {
  readonly clock: VirtualClock;
  readonly ledger: RunningLedger;
  advance(ms: number): Promise<void>;
};

export type OpenWorld = (config: Config) => Promise<LedgerWorld>;

export function localWorld(config: Config): Promise<LedgerWorld> {
  const clock = new VirtualClock();
  return Promise.resolve({
    clock,
    ledger: new LocalLedger(config, clock),
    advance: (ms) => clock.advance(ms),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
}

export function paperWorld(config: Config): Promise<LedgerWorld> {
  const clock = new VirtualClock();
  const line = new VirtualStore(new VirtualRedis(clock), clock);
  return Promise.resolve(fleetWorld(config, clock, line, () => Promise.resolve(), []));
}

export async function redisWorld(config: Config): Promise<LedgerWorld> {
  const clock = new VirtualClock();
  const server = await RedisServer.start();
  const client = createClient({ RESP: 2, socket: { host: "127.0.0.1", port: server.port } });
  await client.connect();
  const asked = new Set<string>();
  let turns = 0;
  const run = async (
    { body }: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<{ readonly kind: "reply"; readonly value: unknown }> => {
    const turn = `${(turns += 1)}`;
    asked.add(turn);
    const told = client.set("clock", `${1_795_000_000_000 + clock.now()} life`);
    const value: unknown = await client.eval(body, { keys: [...keys], arguments: args.map(String) });
    await told;
    asked.delete(turn);
    return { kind: "reply", value };
  };
  const store = new RedisLedger({ run, onChange: () => {} }, "test", ledgerScripts(TOLD_CLOCK));
  const quiet = async (): Promise<void> => {
    do await new Promise((resolve) => setImmediate(resolve));
    while (asked.size > 0);
  };
  return fleetWorld(config, clock, store, quiet, [
    server,
    { [Symbol.asyncDispose]: () => Promise.resolve(client.destroy()) },
  ]);
}

const STEP_MS = 100;

function fleetWorld(
  config: Config,
  clock: VirtualClock,
  store: LedgerStore,
  quiet: () => Promise<void>,
  owned: readonly AsyncDisposable[],
): LedgerWorld {
  const onBug = (error: unknown): never => {
    throw error;
  };
  const ledger = new SharedLedger(config, { fleet: sampleFleet(), store, clock, life: "life", onBug });
  return {
    clock,
    ledger,
    advance: async (ms) => {
      for (let left = ms; left > 0; left -= STEP_MS) {
        await clock.advance(Math.min(STEP_MS, left));
        await quiet();
      }
    },
    [Symbol.asyncDispose]: async () => {
      await ledger.close();
      for (const each of owned.toReversed()) await each[Symbol.asyncDispose]();
    },
  };
}
