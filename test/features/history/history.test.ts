import { describe, expect, test } from "vitest";
import { packedPolls } from "../../../src/features/history/poll-ring.ts";
import { History } from "../../../src/features/history/history.ts";
import { outcomeOf, type PollOutcome } from "../../../src/kernel/exchange/outcome.ts";
import type { RestoredUpstream } from "../../../src/features/history/state.ts";
import { recordPoll, sampleCron, samplePoll, sampleSchedule } from "../../support/kernel-samples.ts";
import { packedBuckets, sampleBucket } from "../../support/samples.ts";
import { type PollStatus, pollStatusOf } from "../../../src/features/history/kept-poll.ts";

const START_MS = 1_790_000_000_000;
const HOUR_MS = 3_600_000;

const TIMEOUT: PollOutcome = { kind: "failed", reason: "timeout" };

function pollAt(atMs: number, outcome: PollOutcome = { kind: "ok", reason: "" }, id = `poll-${atMs}`) {
  return samplePoll({ id, sentAtMs: atMs, endedAtMs: atMs, outcome });
}

function filled(polls: number, changes: { readonly outcome?: PollOutcome } = {}): History {
  const history = new History("email", START_MS);
  for (let turn = 0; turn < polls; turn += 1)
    recordPoll(history, pollAt(START_MS + turn * 1_000, changes.outcome));
  return history;
}

test("the last sixty polls are kept, the newest last", () => {
  const history = filled(100);
  expect(history.lastPolls).toHaveLength(60);
  expect(history.lastPolls.at(-1)?.atMs).toBe(START_MS + 99_000);
  expect(history.lastPoll).toEqual(history.lastPolls.at(-1));
  expect(filled(0).lastPoll).toBeUndefined();
});

test("failures stay after the successes of their age are gone", () => {
  const history = new History("email", START_MS);
  recordPoll(history, pollAt(START_MS, TIMEOUT, "the failure"));
  for (let turn = 1; turn < 200; turn += 1) recordPoll(history, pollAt(START_MS + turn * 1_000));
  expect(history.lastPolls.some((poll) => poll.id === "the failure")).toBe(false);
  expect(history.lastFailures.map((poll) => poll.id)).toEqual(["the failure"]);
  expect(filled(100, { outcome: TIMEOUT }).lastFailures).toHaveLength(20);
});

test("latency is that of the polls that were ok", () => {
  const history = new History("email", START_MS);
  recordPoll(history, samplePoll({ durationMs: 100 }));
  recordPoll(history, samplePoll({ durationMs: 10_000, outcome: TIMEOUT }));
  expect(history.latency).toMatchObject({ polls: 1, p95Ms: 100 });
});

test("a failure of our own network is left out of availability, and marked as ours", () => {
  const history = new History("email", START_MS);
  recordPoll(history, pollAt(START_MS), 1_000);
  recordPoll(history, pollAt(START_MS + 1_000, TIMEOUT, "theirs"), 1_000);
  const ours = pollAt(START_MS + 2_000, TIMEOUT, "ours");
  history.record({ kind: "polled", poll: ours });
  history.record({ kind: "judged", poll: { ...ours, outcome: outcomeOf("offline") }, watchedMs: 0 });
  for (const window of history.availability(START_MS + 3_000))
    expect(window).toMatchObject({ watchedMs: 2_000, failedMs: 1_000 });
  const reasonsOf = (polls: readonly PollStatus[]) =>
    polls.map(({ id, outcome, reason }) => [id, outcome, reason]);
  expect(reasonsOf(history.lastFailures)).toEqual([
    ["theirs", "failed", "timeout"],
    ["ours", "ours", "offline"],
  ]);
  expect(reasonsOf(history.lastPolls).slice(1)).toEqual(reasonsOf(history.lastFailures));
});

test.each([
  ["their failure counts", TIMEOUT, 1_000],
  ["a refused key of ours does not", { kind: "rejected", reason: "unauthorized" }, 0],
  ["a forbidden one does not", { kind: "rejected", reason: "forbidden" }, 0],
  ["a bug of ours does not", { kind: "ours", reason: "bug" }, 0],
  ["being throttled does not", { kind: "throttled", reason: "rate" }, 0],
] as const)("in availability, %s", (_, outcome, counted) => {
  const history = new History("email", START_MS);
  recordPoll(history, pollAt(START_MS), 1_000);
  recordPoll(history, pollAt(START_MS + 1_000, outcome), counted);
  for (const window of history.availability(START_MS + 2_000))
    expect(window).toMatchObject({ watchedMs: 1_000 + counted, failedMs: counted });
});

test("each window of availability forgets by itself", () => {
  const history = new History("email", START_MS);
  recordPoll(history, pollAt(START_MS, TIMEOUT), 1_000);
  recordPoll(history, pollAt(START_MS + 3 * HOUR_MS), 1_000);
  const ratios = (nowMs: number) => history.availability(nowMs).map((window) => window.ratio);
  expect(ratios(START_MS + 3 * HOUR_MS)).toEqual([1, 0.5, 0.5]);
  expect(ratios(START_MS + 26 * HOUR_MS)).toEqual([undefined, 1, 0.5]);
  expect(ratios(START_MS + 800 * HOUR_MS)).toEqual([undefined, undefined, undefined]);
});

describe("after a restart", () => {
  const restored: RestoredUpstream = {
    values: [],
    evidence: [],
    polls: packedPolls(
      Array.from({ length: 60 }, (_, turn) => pollStatusOf(pollAt(START_MS + turn * 1_000))),
    ),
    failures: [pollStatusOf(pollAt(START_MS - HOUR_MS, TIMEOUT, "the failure"))],
    incidents: [
      {
        upstream: "email",
        state: "down",
        reason: "timeout",
        startedAtMs: START_MS,
        endedAtMs: undefined,
        polls: 3,
      },
    ],
    minutes: packedBuckets([
      sampleBucket({ index: Math.floor(START_MS / 60_000), watchedMs: 60_000, failedMs: 1_000 }),
    ]),
    hours: packedBuckets([
      sampleBucket({ index: Math.floor(START_MS / HOUR_MS), watchedMs: 90_000, failedMs: 40_000 }),
    ]),
  };
  const laterMs = START_MS + 120_000;

  test("history goes on: polls, failures, incidents, availability", () => {
    const history = new History("email", laterMs, restored);
    recordPoll(history, pollAt(laterMs), 1_000);
    expect(history.lastPolls).toHaveLength(60);
    expect(history.lastPolls.at(-1)?.atMs).toBe(laterMs);
    expect(history.lastPolls[0]?.atMs).toBe(START_MS + 1_000);
    expect(history.lastFailures.map((poll) => poll.id)).toEqual(["the failure"]);
    expect(history.incidents).toMatchObject([{ startedAtMs: START_MS, endedAtMs: undefined }]);
    expect(history.availability(laterMs)).toMatchObject([
      { watchedMs: 61_000, failedMs: 1_000 },
      { watchedMs: 91_000, failedMs: 40_000 },
      { watchedMs: 91_000, failedMs: 40_000 },
    ]);
  });

  test("since when the health is what it is begins with the process: nobody has looked yet", () => {
    expect(new History("email", laterMs, restored).sinceMs).toBe(laterMs);
  });

  test("the first ok ends the incident that was open", () => {
    const history = new History("email", laterMs, restored);
    recordPoll(history, pollAt(laterMs));
    history.record({ kind: "health_changed", from: "unknown", to: "up", atMs: laterMs });
    expect(history.newestIncident).toMatchObject({ startedAtMs: START_MS, endedAtMs: laterMs });
  });
});

test("slots that were skipped are counted by cause, and by the budget that held them", () => {
  const history = filled(0);
  const skipped = (cause: "budget" | "missed", budget?: string): void =>
    history.record({ kind: "slots_skipped", cause, count: 1, budget });
  for (const budget of ["model", "account", "model"]) skipped("budget", budget);
  skipped("missed");
  expect(history.skippedSincePoll).toEqual([
    { cause: "budget", budget: "model", count: 2 },
    { cause: "budget", budget: "account", count: 1 },
    { cause: "missed", count: 1 },
  ]);
});

test("an incident goes on in a pause that the upstream asked for also where the first poll after it fails by our own fault", () => {
  const history = new History("email", START_MS);
  history.schedule = sampleSchedule(HOUR_MS);
  recordPoll(history, pollAt(START_MS, outcomeOf("rate")));
  history.record({ kind: "health_changed", from: "up", to: "throttled", atMs: START_MS });
  history.record({ kind: "slots_skipped", cause: "backoff", count: 11 });
  recordPoll(history, pollAt(START_MS + 12 * HOUR_MS, outcomeOf("suspended")));
  recordPoll(history, pollAt(START_MS + 13 * HOUR_MS, outcomeOf("rate")));
  expect(history.incidents).toMatchObject([{ startedAtMs: START_MS, endedAtMs: undefined }]);
  recordPoll(history, pollAt(START_MS + 25 * HOUR_MS, outcomeOf("rate")));
  expect(history.incidents).toHaveLength(2);
});

test("an incident goes on in a pause that the upstream asked for, and ends where nobody looked for as long", () => {
  const history = (cause: "backoff" | "quota"): History => {
    const kept = new History("email", START_MS);
    kept.schedule = sampleSchedule(HOUR_MS);
    const rate = outcomeOf("rate");
    recordPoll(kept, pollAt(START_MS, rate));
    kept.record({ kind: "health_changed", from: "up", to: "throttled", atMs: START_MS });
    kept.record({ kind: "slots_skipped", cause, count: 11 });
    recordPoll(kept, pollAt(START_MS + 12 * HOUR_MS, rate));
    return kept;
  };
  expect(history("backoff").incidents).toMatchObject([{ startedAtMs: START_MS, polls: 2 }]);
  expect(history("backoff").sinceMs).toBe(START_MS);
  const unseen = history("quota");
  expect(unseen.incidents).toMatchObject([
    { startedAtMs: START_MS + 12 * HOUR_MS, endedAtMs: undefined },
    { startedAtMs: START_MS, endedAtMs: START_MS, isUnwatched: true },
  ]);
  expect(unseen.sinceMs).toBe(START_MS + 12 * HOUR_MS);
  expect(unseen.evidence.polls).toHaveLength(1);
});

test.each([
  ["quicker one since", 24 * HOUR_MS, 30_000, 20 * HOUR_MS, 20 * HOUR_MS, 1],
  ["slower one after nobody had looked", 30_000, 6 * HOUR_MS, 8 * HOUR_MS, 8 * HOUR_MS, 2],
  ["same one, reloaded", 30_000, 30_000, 20_000, 8 * HOUR_MS, 2],
  ["slower one whose first slot comes", 30_000, 6 * HOUR_MS, 20_000, 6 * HOUR_MS, 1],
  ["slower one whose slots nobody looked at", 30_000, 6 * HOUR_MS, 20_000, 24 * HOUR_MS, 2],
] as const)(
  "whether nobody looked is told by the schedules of that time, where there is a %s",
  (_, beforeMs, afterMs, reloadMs, laterMs, incidents) => {
    const history = new History("email", START_MS);
    history.schedule = sampleSchedule(beforeMs);
    recordPoll(history, pollAt(START_MS, TIMEOUT));
    history.record({ kind: "health_changed", from: "up", to: "down", atMs: START_MS });
    history.reschedule(sampleSchedule(afterMs), START_MS + reloadMs);
    recordPoll(history, pollAt(START_MS + laterMs, TIMEOUT));
    expect(history.incidents).toHaveLength(incidents);
  },
);

test.each([
  ["the wall clock is set ahead", 2 * HOUR_MS, 30_000, 1],
  ["the wall clock is set back while nobody looks", -2 * HOUR_MS, 9 * HOUR_MS, 2],
  ["the machine is suspended", 9 * HOUR_MS, 9 * HOUR_MS, 2],
])("an incident goes on unless nobody looked, where %s", (_, wallMs, bootMs, incidents) => {
  let sinceBootMs = 60_000;
  const history = new History("email", START_MS, undefined, undefined, START_MS, () => sinceBootMs);
  history.schedule = sampleSchedule(30_000);
  recordPoll(history, pollAt(START_MS, TIMEOUT));
  history.record({ kind: "health_changed", from: "up", to: "down", atMs: START_MS });
  sinceBootMs += bootMs;
  recordPoll(history, pollAt(START_MS + wallMs, TIMEOUT));
  expect(history.incidents).toHaveLength(incidents);
});

test("a calendar's nights and weekends are no time in which nobody looked", () => {
  const history = new History("email", START_MS);
  history.schedule = sampleCron("*/15 * 8-17 * * MON-FRI");
  const evening = Date.UTC(2026, 10, 27, 17, 59, 59);
  recordPoll(history, pollAt(evening));
  expect(history.knownUntilMs).toBe(Date.UTC(2026, 10, 30, 8, 0, 30));
});

test("what fails still when we are online again has been down since then, as its incident says", () => {
  const history = new History("email", START_MS);
  const offline = pollAt(START_MS + 1_000, TIMEOUT);
  history.record({ kind: "polled", poll: offline });
  history.record({ kind: "health_changed", from: "up", to: "down", atMs: START_MS + 1_000 });
  history.record({ kind: "judged", poll: { ...offline, outcome: outcomeOf("offline") }, watchedMs: 0 });
  expect(history.sinceMs).toBe(START_MS + 1_000);
  for (const atMs of [START_MS + HOUR_MS, START_MS + 2 * HOUR_MS])
    recordPoll(history, pollAt(atMs, outcomeOf("server_error")));
  expect(history.newestIncident).toMatchObject({ reason: "server_error", startedAtMs: START_MS + HOUR_MS });
  expect(history.sinceMs).toBe(START_MS + HOUR_MS);
});
