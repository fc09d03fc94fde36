import type { Advice } from "../../src/core/advice/advice.ts";
import type { Budget, Config, Fleet, Upstream } from "../../src/core/config/config.ts";
import type { Exchange, Observation } from "../../src/core/exchange/exchange.ts";
import { scheduleEvery, type Schedule } from "../../src/core/schedule/schedule.ts";

export function sampleSchedule(periodMs: number, name = "email"): Schedule {
  const reading = scheduleEvery(periodMs, name);
  if (reading.kind === "refused") throw new Error(reading.message);
  return reading.schedule;
}

/** Plain, valid values; a test says only what it is about. */

export function sampleBudget(changes: Partial<Budget> = {}): Budget {
  return {
    name: "api",
    rates: [{ requests: 60, perMs: 60_000, label: "1m" }],
    share: 1,
    lingerMs: 0,
    maxPauseMs: 3_600_000,
    yieldBelow: 0.1,
    quota: undefined,
    ...changes,
  };
}

export function sampleUpstream(changes: Partial<Upstream> = {}): Upstream {
  const name = changes.name ?? "email";
  return {
    name,
    url: "http://127.0.0.1:9/v1/resources",
    auth: { kind: "none" },
    headers: {},
    budget: "api",
    schedule: sampleSchedule(15_000, name),
    timeoutMs: 10_000,
    confirm: 1,
    expect: { status: [200], json: true, maxBodyBytes: 1_048_576 },
    degradedAboveMs: 30_000,
    objective: { availability: 0.995, latencyMs: 1_000 },
    connection: "fresh",
    proxy: { kind: "none" },
    tls: {
      caFile: undefined,
      certFile: undefined,
      keyFile: undefined,
      serverName: undefined,
      insecureSkipVerify: false,
    },
    labels: {},
    ...changes,
  };
}

export function sampleConfig(changes: Partial<Config> = {}): Config {
  return {
    web: {
      host: "127.0.0.1",
      port: 0,
      configFile: undefined,
      enableLifecycle: false,
      allowedHosts: undefined,
    },
    log: { level: "info" },
    state: undefined,
    fleet: undefined,
    budgets: [sampleBudget()],
    upstreams: [sampleUpstream()],
    ...changes,
  };
}

export function sampleFleet(changes: Partial<Fleet> = {}): Fleet {
  return {
    redis: {
      nodes: { kind: "single", host: "127.0.0.1", port: 6379, database: 0 },
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

export function sampleAdvice(changes: Partial<Advice> = {}): Advice {
  return {
    throttled: false,
    pause: undefined,
    limits: [],
    remaining: undefined,
    exhaustedPerMs: undefined,
    malformed: 0,
    ...changes,
  };
}

export function answered(
  status: number,
  headers: readonly (readonly [string, string])[] = [],
  body = "{}",
): Exchange {
  return {
    kind: "answered",
    head: { status, reasonPhrase: "", headers },
    body: new TextEncoder().encode(body),
  };
}

export function observed(exchange: Exchange, durationMs = 5): Observation {
  return {
    exchange,
    durationMs,
    phasesMs: { wait: durationMs },
    reusedConnection: false,
    certificateExpiresAtMs: undefined,
  };
}
