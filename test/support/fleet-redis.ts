import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@redis/client";
import { systemClock } from "../../src/adapters/clock.ts";
import { Redis } from "../../src/adapters/redis.ts";
import type { Fleet } from "../../src/core/config.ts";
import { freePort } from "../../tools/stack/free-port.ts";
import { eventually } from "./eventually.ts";

/** A real server, alone with its test. */
export type TestRedis = {
  readonly port: number;
  /** A connection like those of replicas. */
  readonly runner: Redis;
  connect(): Redis;
  command(...args: string[]): Promise<unknown>;
  close(): Promise<void>;
};

const SILENT = { debug(): void {}, info(): void {}, warn(): void {}, error(): void {} };

export function fleetAt(port: number, changes: Partial<Fleet> = {}): Fleet {
  return {
    redis: {
      nodes: { kind: "single", host: "127.0.0.1", port, database: 0 },
      username: undefined,
      password: undefined,
      tls: undefined,
    },
    mode: "shard",
    replicas: 3,
    reserve: 0.2,
    ttlMs: 10_000,
    name: "a",
    advertise: undefined,
    prefix: "pacewatch",
    ...changes,
  };
}

export async function openTestRedis(binary: string): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), "pacewatch-redis-"));
  const port = await freePort();
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  const server = spawn(binary, [...args, "--dir", folder], { stdio: "ignore" });
  const exited = new Promise((resolve) => {
    server.once("exit", resolve);
  });
  const redises: Redis[] = [];
  const connect = (): Redis => {
    const redis = new Redis(fleetAt(port), {
      clock: systemClock,
      log: SILENT,
      onCall() {},
      password: undefined,
    });
    redises.push(redis);
    return redis;
  };
  const runner = connect();
  await eventually(() => (runner.isUp ? true : undefined));
  const client = createClient({ RESP: 2, socket: { host: "127.0.0.1", port } });
  client.on("error", () => {});
  await client.connect();
  return {
    port,
    runner,
    connect,
    command: (...command) => client.sendCommand(command),
    async close() {
      client.destroy();
      await Promise.all(redises.map((redis) => redis.close()));
      server.kill("SIGKILL");
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
