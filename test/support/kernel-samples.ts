import { type Recorder } from "../../src/kernel/poll/ports.ts";
import type { Budget, Config, Upstream } from "../../src/kernel/config/config.ts";
import { type Exchange, type Observation } from "../../src/kernel/exchange/exchange.ts";
import type { Poll } from "../../src/kernel/poll/poll.ts";
import { scheduleCron, scheduleEvery, type Schedule } from "../../src/kernel/schedule/schedule.ts";
import { OK } from "../../src/kernel/exchange/outcome.ts";
import type { PollTimes } from "../../src/kernel/polling/poll-once.ts";

/** Plain, valid values of the kernel, so that a test mentions only what it is about. */

export function sampleSchedule(periodMs: number, name = "email"): Schedule {
  return scheduleEvery(periodMs, name);
}

export function sampleBudget(changes: Partial<Budget> = {}): Budget {
  return {
    name: "api",
    rates: [{ requests: 60, perMs: 60_000, label: "1m" }],
    share: 1,
    lingerMs: 0,
    maxPauseMs: 3_600_000,
    blindAfterMs: 300_000,
    yieldBelow: 0.1,
    ...changes,
  };
}

export function sampleCron(text: string, timeZone?: string): Schedule {
  const reading = scheduleCron(text, timeZone);
  if (reading.kind === "refused") throw new Error(reading.message);
  return reading.schedule;
}

export function sampleUpstream(changes: Partial<Upstream> = {}): Upstream {
  const name = changes.name ?? "email";
  return {
    name,
    url: "http://127.0.0.1:9/v1/resources",
    auth: { kind: "none" },
    headers: {},
    budgets: ["api"],
    schedule: sampleSchedule(15_000, name),
    timeoutMs: 10_000,
    confirm: 1,
    confirmOverMs: 0,
    expect: { status: [200], json: true, maxBodyBytes: 1_048_576 },
    degradedAboveMs: 30_000,
    requestIdHeaders: [],
    objective: { availability: 0.995, latencyMs: 1_000 },
    connection: "fresh",
    proxy: "none",
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
      listen: { host: "127.0.0.1", port: 0 },
      probeListen: undefined,
      configFile: undefined,
      enableLifecycle: false,
      allowedHosts: undefined,
    },
    log: { level: "info" },
    budgets: [sampleBudget()],
    upstreams: [sampleUpstream()],
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
    certificateExpiresAtMs: undefined,
    withoutKeys: String,
  };
}

/** Of a poll that took no time, for what judges its answer. */
export function samplePollTimes(changes: Partial<PollTimes> = {}): PollTimes {
  return {
    id: "1",
    origin: "schedule",
    sentAtMs: 0,
    endedAtMs: 0,
    delayMs: 0,
    usualGapMs: 15_000,
    ...changes,
  };
}

export function samplePoll(changes: Partial<Poll> = {}): Poll {
  return {
    id: "poll-1",
    origin: "schedule",
    sentAtMs: POLL_ENDED_AT_MS - 200,
    endedAtMs: POLL_ENDED_AT_MS,
    delayMs: 50,
    usualGapMs: 15_000,
    durationMs: 200,
    phasesMs: { wait: 150, transfer: 50 },
    outcome: OK,
    degraded: false,
    withinObjective: true,
    detail: "200 OK",
    head: { status: 200, headers: [] },
    excerpt: undefined,
    certificateExpiresAtMs: undefined,
    ...changes,
  };
}

/** As a poll is recorded whose outcome is known at once. */
export function recordPoll(recorder: Recorder, poll: Poll, watchedMs = 0): void {
  recorder.record({ kind: "polled", poll });
  recorder.record({ kind: "judged", poll, watchedMs });
}

export const POLL_ENDED_AT_MS = 1_790_000_000_250;

/** An hour before. */
export const PROCESS_STARTED_AT_MS: number = 1_789_996_400_000;
