import { keptHeadOf } from "../../../src/kernel/exchange/kept-headers.ts";
import type { Headers, PhaseTimesMs } from "../../../src/kernel/exchange/exchange.ts";
import { OK, outcomeOf, type PollOutcome, type SkipCause } from "../../../src/kernel/exchange/outcome.ts";
import { History } from "../../../src/features/history/history.ts";
import { WatchedTime } from "../../../src/features/history/watched.ts";
import {
  foldHealth,
  UNKNOWN_HEALTH,
  type Health,
  type HealthEvent,
} from "../../../src/kernel/poll/health.ts";
import { hash32 } from "../../../src/kernel/schedule/hash.ts";
import type { Fields } from "../../../src/kernel/text/field.ts";
import type { UpstreamFacts } from "../../../src/features/status/status.ts";
import type { ValueStatus } from "../../../src/features/values/facts.ts";
import { CALENDAR, type Column, type PollOfColumn, spanOf } from "../../../src/features/history/timeline.ts";
import { seededRandom, within, type Span } from "../../../src/simulator/randomness.ts";
import { samplePoll } from "../kernel-samples.ts";
import { sampleFleetStatus, sampleStatusLists, sampleUpstreamStatus, type StatusLists } from "../samples.ts";
import type { Incident } from "../../../src/features/history/incidents.ts";

/** Snapshots for pictures of the page, and for its cost: a real history records the polls and folds their health. */

export const SCENE_NOW_MS: number = Date.UTC(2026, 10, 21, 12, 17, 4);

/** Polls in a row with the same result. */
type PollRun = {
  readonly polls: number;
  readonly outcome?: PollOutcome;
  readonly latency?: Span;
  readonly status?: number;
  readonly detail?: string;
  readonly excerpt?: string;
  readonly headers?: Headers;
  readonly phasesMs?: PhaseTimesMs;
  readonly offline?: boolean;
  /** Otherwise as often as the upstream is polled now. */
  readonly everyMs?: number;
  /** Nobody looked. */
  readonly unwatched?: boolean;
};

type UpstreamHistory = {
  readonly name: string;
  readonly everyMs: number;
  readonly runs: readonly PollRun[];
  /** Before the first run there was a month in which one poll in this many failed. */
  readonly monthFailedOneIn?: number;
  /** Skipped after the last poll. */
  readonly skipped?: readonly { readonly cause: SkipCause; readonly count: number }[];
};

type Played = {
  readonly upstream: UpstreamFacts;
  readonly incidents: readonly Incident[];
  readonly history: History;
  /** Those of the last day, as the state file has them. */
  readonly polls: readonly PollOfColumn[];
};

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const MONTH_MS = 30 * DAY_MS;
const STARTED_AT_MS = SCENE_NOW_MS - 31 * DAY_MS;
const MONTH_POLLED_EVERY_MS = 120_000;
const DEGRADED_ABOVE_MS = 2_000;
const USUAL: Span = { minMs: 70, maxMs: 140 };
const MONTH_FAILURE: PollRun = {
  polls: 1,
  outcome: { kind: "failed", reason: "server_error" },
  status: 502,
  detail: "answered 502",
};

class Recording {
  readonly history: History;
  readonly polls: PollOfColumn[] = [];
  readonly #watched = new WatchedTime();
  health: Health = UNKNOWN_HEALTH;
  readonly random: () => number;

  constructor(name: string) {
    this.history = new History(name, STARTED_AT_MS);
    this.random = seededRandom(hash32(name));
  }

  poll(atMs: number, run: PollRun, usualGapMs: number): void {
    const outcome = run.outcome ?? OK;
    const durationMs = within(run.latency ?? USUAL, this.random);
    const degraded = outcome.kind === "ok" && durationMs > DEGRADED_ABOVE_MS;
    const status = run.status ?? (outcome.kind === "ok" ? 200 : undefined);
    const poll = samplePoll({
      delayMs: 0,
      usualGapMs,
      id: `poll-${this.polls.length}`,
      sentAtMs: atMs,
      endedAtMs: atMs + durationMs,
      durationMs,
      phasesMs: run.phasesMs ?? phasesOf(durationMs, this.random),
      outcome,
      degraded,
      withinObjective: outcome.kind === "ok" && durationMs <= 1_000,
      detail: run.detail ?? "answered 200 with 482 B",
      head:
        status === undefined
          ? undefined
          : keptHeadOf({ status, reasonPhrase: "", headers: run.headers ?? [] }, [], String),
      excerpt: run.excerpt,
    });
    const judged = run.offline === true ? { ...poll, outcome: outcomeOf("offline") } : poll;
    this.history.record({ kind: "polled", poll });
    const watchedMs = this.#watched.coveredBy(judged);
    this.history.record({ kind: "judged", poll: judged, watchedMs });
    const endedMs = atMs + durationMs;
    this.polls.push({ endedAtMs: endedMs, outcome: judged.outcome.kind, durationMs, watchedMs });
    const event = { kind: "polled", outcome, isDegraded: degraded, isConfirmed: false } as const;
    this.fold({ ...event, sentMs: atMs, endedMs }, endedMs);
  }

  skip(cause: SkipCause, count: number, atMs: number): void {
    this.history.record({ kind: "slots_skipped", cause, count });
    this.fold({ kind: "skipped", cause, count }, atMs);
  }

  fold(event: HealthEvent, atMs: number): void {
    const from = this.health.state;
    this.health = foldHealth(this.health, event, { polls: 1, overMs: 0 }).health;
    if (this.health.state !== from)
      this.history.record({ kind: "health_changed", from, to: this.health.state, atMs });
  }
}

/** The status of one upstream at the end of its history, and its incidents. */
export function play(of: UpstreamHistory, changes: Partial<UpstreamFacts> & Fields = {}): Played {
  const { name, everyMs, runs, monthFailedOneIn, skipped = [] } = of;
  const skippedCount = skipped.reduce((sum, { count }) => sum + count, 0);
  const lengthMs = runs.reduce((sum, run) => sum + run.polls * (run.everyMs ?? everyMs), 0);
  const firstAtMs = SCENE_NOW_MS - lengthMs - (skippedCount - 0.7) * everyMs;
  const recording = new Recording(name);
  if (monthFailedOneIn !== undefined) {
    const usual = (run: PollRun): PollRun =>
      recording.random() * monthFailedOneIn < 1 ? MONTH_FAILURE : run;
    const oftenFromMs = firstAtMs - 2 * HOUR_MS;
    let atMs = firstAtMs - MONTH_MS;
    for (; atMs < oftenFromMs; atMs += MONTH_POLLED_EVERY_MS)
      recording.poll(atMs, usual({ polls: 1 }), MONTH_POLLED_EVERY_MS);
    for (; atMs < firstAtMs - everyMs; atMs += everyMs) recording.poll(atMs, usual({ polls: 1 }), everyMs);
  }
  let atMs = firstAtMs;
  for (const run of runs) {
    for (let turn = 0; turn < run.polls; turn += 1, atMs += run.everyMs ?? everyMs)
      if (run.unwatched !== true) recording.poll(atMs, run, run.everyMs ?? everyMs);
  }
  for (const { cause, count } of skipped) recording.skip(cause, count, SCENE_NOW_MS - 0.7 * everyMs);

  const { history, health } = recording;
  const polls = recording.polls.length;
  const upstream = sampleUpstreamStatus({
    name,
    url: `https://${name}.example/v1/resources`,
    budgets: [name],
    schedule: { source: `every ${everyMs / 1_000}s`, longestGapMs: everyMs },
    degradedAboveMs: DEGRADED_ABOVE_MS,
    health: { state: health.state, sinceMs: history.sinceMs, up: health.isUp },
    nextSlotAtMs: SCENE_NOW_MS + 0.3 * everyMs,
    certificateExpiresAtMs: SCENE_NOW_MS + 82 * DAY_MS,
    counts: { slots: polls + skippedCount, polls, inFlight: 0, waiting: 0, skipped: skippedCount },
    skips: skipped,
    skippedSincePoll: history.skippedSincePoll,
    latency: history.latency,
    missedLastHour: history.missedLastHour(0.995, SCENE_NOW_MS),
    availability: history.availability(SCENE_NOW_MS),
    lastPolls: history.lastPolls,
    lastFailures: history.lastFailures,
    ...changes,
  });
  const lastDay = recording.polls.filter(({ endedAtMs }) => endedAtMs > SCENE_NOW_MS - DAY_MS);
  return { upstream, incidents: history.incidents, history, polls: lastDay };
}

function phasesOf(durationMs: number, random: () => number): PhaseTimesMs {
  const [dns, connect, tls, transfer] = [1 + random() * 2, 9 + random() * 4, 14 + random() * 6, 1 + random()];
  return { dns, connect, tls, wait: Math.max(1, durationMs - dns - connect - tls - transfer), transfer };
}

/** The budgets are those of the two services that come configured. */
export function snapshotOf(played: readonly Played[], changes: Partial<StatusLists> = {}): StatusLists {
  return sampleStatusLists({
    startedAtMs: STARTED_AT_MS,
    nowMs: SCENE_NOW_MS,
    stateStoreUp: true,
    stateLostAtMs: undefined,
    lastReload: { successful: true, lastSuccessAtMs: STARTED_AT_MS },
    upstreams: played.map(({ upstream }) => upstream),
    histories: Object.fromEntries(played.map(({ upstream, history }) => [upstream.name, history])),
    polls: Object.fromEntries(played.map(({ upstream, polls }) => [upstream.name, polls])),
    budgets: [
      {
        name: "email",
        share: 0.2,
        rates: [{ label: "1m", limit: 1_000, cap: 200, leases: 13 }],
        advertised: { limit: 1_000, remaining: 641 },
        pausedUntilMs: 0,
        quota: undefined,
      },
      {
        name: "ai-router",
        share: 0.2,
        rates: [{ label: "1m", limit: 60, cap: 12, leases: 5 }],
        advertised: { limit: 60, remaining: 41 },
        pausedUntilMs: 0,
        quota: { limit: 400_000, perMs: MONTH_MS, used: 96_512, unconfirmed: 2, forecast: 172_800 },
        spend: {
          limit: 5,
          perMs: MONTH_MS,
          used: 1.2574,
          unconfirmed: 0.002,
          forecast: 4.32,
          currency: "EUR",
        },
      },
    ],
    incidents: played.flatMap(({ incidents }) => incidents).toSorted((a, b) => b.startedAtMs - a.startedAtMs),
    ...changes,
  });
}

/** Of the 60 days before those that a history has, as a state file tells them: each kind of a day. */
export function olderDays(name: string): readonly Column[] {
  const random = seededRandom(hash32(name));
  const first = spanOf(CALENDAR, SCENE_NOW_MS).fromMs / DAY_MS;
  const failedOn = [0, 0, 0, 0, 0, 0, 2, 0, 700, undefined];
  return Array.from({ length: 59 }, (_, place) => first + place).flatMap((index) => {
    const failed = failedOn[Math.floor(random() * failedOn.length)];
    const counts = { ok: 5_760, failed: failed ?? 0, throttled: 0, rejected: 0, ours: 0 };
    const failedMs = (failed ?? 0) * 15_000;
    return failed === undefined ? [] : [{ index, counts, watchedMs: DAY_MS, failedMs, latency: undefined }];
  });
}

const PROBLEM_HEADERS: Headers = [
  ["content-type", "application/problem+json"],
  ["date", "Sat, 21 Nov 2026 12:17:00 GMT"],
  ["x-request-id", "0198f1c2-77aa-7c1e-9d1a-0242ac120002"],
];

const UNAVAILABLE: PollRun = {
  polls: 4,
  outcome: { kind: "failed", reason: "server_error" },
  status: 503,
  detail: "answered 503",
  headers: PROBLEM_HEADERS,
  excerpt: '{"type":"about:blank","title":"Service Unavailable","status":503}',
};

const TIMED_OUT: PollRun = {
  polls: 7,
  outcome: { kind: "failed", reason: "timeout" },
  latency: { minMs: 10_001, maxMs: 10_008 },
  phasesMs: { dns: 1.4, connect: 10.2, tls: 21.7, wait: 9_967 },
  detail: "timed out after 10000 ms while waiting for the answer",
};

const KEY_REFUSED: PollRun = {
  polls: 12,
  outcome: { kind: "rejected", reason: "unauthorized" },
  status: 401,
  latency: { minMs: 35, maxMs: 60 },
  detail: "answered 401: the key was rejected",
  headers: [...PROBLEM_HEADERS, ["www-authenticate", "Bearer"]],
  excerpt: '{"type":"about:blank","title":"Unauthorized","status":401,"key":"<secret>"}',
};

const THROTTLED: PollRun = {
  polls: 1,
  outcome: { kind: "throttled", reason: "rate" },
  status: 429,
  latency: { minMs: 35, maxMs: 40 },
  detail: "answered 429: too many requests",
  headers: [...PROBLEM_HEADERS, ["retry-after", "40"]],
  excerpt: '{"type":"about:blank","title":"Too Many Requests","status":429}',
};

const UNREACHABLE: PollRun = {
  polls: 9,
  outcome: { kind: "failed", reason: "dns" },
  latency: { minMs: 2, maxMs: 9 },
  phasesMs: { dns: 4.2 },
  offline: true,
  detail: "the name cannot be resolved: ENOTFOUND",
};

const SLOW: PollRun = { polls: 9, latency: { minMs: 2_050, maxMs: 3_400 } };

/** Every state that an upstream can be in. */
export const POLL_RUNS: Readonly<Record<string, readonly PollRun[]>> = {
  well: [{ polls: 60 }],
  down: [{ polls: 44 }, UNAVAILABLE, { polls: 1 }, TIMED_OUT],
  unauthorized: [{ polls: 48 }, KEY_REFUSED],
  throttled: [{ polls: 55 }, THROTTLED],
  slow: [{ polls: 45 }, { polls: 3, latency: { minMs: 600, maxMs: 1_900 } }, SLOW],
  offline: [{ polls: 48 }, UNREACHABLE],
  new: [],
};

function email(state = "well"): Played {
  return play({ name: "email", everyMs: 5_000, runs: POLL_RUNS[state] ?? [], monthFailedOneIn: 900 });
}

function aiRouter(state = "well"): Played {
  return play({ name: "ai-router", everyMs: 15_000, runs: POLL_RUNS[state] ?? [], monthFailedOneIn: 300 });
}

function paused(snapshot: StatusLists): StatusLists {
  const budgets = snapshot.budgets.map((budget) =>
    budget.name === "ai-router"
      ? { ...budget, pausedUntilMs: SCENE_NOW_MS + 29_000, advertised: { limit: 60, remaining: 0 } }
      : budget,
  );
  return { ...snapshot, budgets };
}

const NOT_YET = {
  counts: { slots: 0, polls: 0, inFlight: 0, waiting: 1, skipped: 0 },
  certificateExpiresAtMs: undefined,
};
const SKIPPED_SLOTS = [{ cause: "budget" as const, count: 4 }];

/** Both fail at the same time, and one of them a little longer. */
function outage(extraMinutes: number): readonly PollRun[] {
  return [
    { ...UNAVAILABLE, polls: 120 + extraMinutes, everyMs: MINUTE_MS },
    { polls: 180 - extraMinutes, everyMs: MINUTE_MS },
    { polls: 60 },
  ];
}

const FLAPPING: readonly PollRun[] = Array.from({ length: 24 }, (_, turn) =>
  turn % 2 === 0 ? { polls: 4 } : { ...UNAVAILABLE, polls: 3 },
);

/** Days in which nobody looked, hours of trouble, and some weeks of neither. */
const HOLES: readonly PollRun[] = [
  { polls: 5 * 720, everyMs: 120_000 },
  { polls: 4, everyMs: DAY_MS, unwatched: true },
  { polls: 6 * 720, everyMs: 120_000, latency: { minMs: 90, maxMs: 400 } },
  { ...UNAVAILABLE, polls: 150, everyMs: 120_000 },
  { polls: 3 * 720, everyMs: 120_000 },
  { polls: 7, everyMs: HOUR_MS, unwatched: true },
  { polls: 4 * 720, everyMs: 120_000, latency: { minMs: 70, maxMs: 2_600 } },
  { ...THROTTLED, polls: 200, everyMs: 120_000 },
  { polls: 2 * 720, everyMs: 120_000 },
  { polls: 3, everyMs: HOUR_MS, unwatched: true },
  { polls: 240 },
];

const LONG_VALUE: ValueStatus = {
  name: "a_name_that_is_as_long_as_a_name_may_be_in_the_config.of_a_value",
  unit: "credits",
  value: 12_345_678.123456,
  seenAtMs: SCENE_NOW_MS - 1_000,
};

/** The page when all is well, and in each trouble. */
export const SCENES: Readonly<Record<string, StatusLists>> = {
  well: snapshotOf([email(), aiRouter()]),
  leading: snapshotOf([email(), aiRouter()], {
    fleet: sampleFleetStatus({ isLeading: true, leader: { name: "b", sinceMs: SCENE_NOW_MS - 3_600_000 } }),
  }),
  standby: snapshotOf([], { budgets: [], fleet: sampleFleetStatus() }),
  "standby-lock-away": snapshotOf([], {
    budgets: [],
    fleet: sampleFleetStatus({ lockAwaySinceMs: SCENE_NOW_MS - 20_000 }),
  }),
  down: snapshotOf([email(), aiRouter("down")]),
  unauthorized: snapshotOf([email("unauthorized"), aiRouter()]),
  throttled: paused(snapshotOf([email(), aiRouter("throttled")])),
  slow: snapshotOf([email("slow"), aiRouter()]),
  offline: snapshotOf([email("offline"), aiRouter("offline")], { offline: true }),
  "not-polled": snapshotOf([
    email(),
    play({
      name: "ai-router",
      everyMs: 15_000,
      runs: [{ polls: 52 }],
      monthFailedOneIn: 300,
      skipped: SKIPPED_SLOTS,
    }),
  ]),
  new: snapshotOf(
    [
      play({ name: "email", everyMs: 5_000, runs: [] }, NOT_YET),
      play({ name: "ai-router", everyMs: 15_000, runs: [] }, NOT_YET),
    ].map((played) => ({
      ...played,
      upstream: {
        ...played.upstream,
        health: { ...played.upstream.health, sinceMs: SCENE_NOW_MS - 700 },
      },
    })),
    {
      startedAtMs: SCENE_NOW_MS - 900,
      stateStoreUp: undefined,
      stateLostAtMs: undefined,
      budgets: snapshotOf([]).budgets.map((budget) => ({
        ...budget,
        rates: budget.rates.map((rate) => ({ ...rate, leases: 0 })),
        advertised: undefined,
        quota: budget.quota && { ...budget.quota, used: 0 },
      })),
    },
  ),
  "one-poll": snapshotOf([
    play({ name: "email", everyMs: 5_000, runs: [{ polls: 1 }] }),
    play({ name: "ai-router", everyMs: 15_000, runs: [{ ...UNAVAILABLE, polls: 1 }] }),
  ]),
  outage: snapshotOf([
    play({ name: "email", everyMs: 5_000, runs: outage(0), monthFailedOneIn: 900 }),
    play(
      { name: "ai-router", everyMs: 15_000, runs: outage(25), monthFailedOneIn: 300 },
      { values: [LONG_VALUE] },
    ),
    play({ name: "billing", everyMs: 60_000, runs: [{ polls: 60 }], monthFailedOneIn: 500 }),
    play({
      name: "a-name-that-is-as-long-as-a-name-may-be-in-the-config",
      everyMs: 300_000,
      runs: [{ polls: 50 }],
    }),
  ]),
  flapping: snapshotOf([
    email(),
    play({ name: "ai-router", everyMs: 15_000, runs: FLAPPING, monthFailedOneIn: 300 }),
  ]),
  missed: snapshotOf([
    email(),
    play({
      name: "ai-router",
      everyMs: 15_000,
      runs: [...FLAPPING, { polls: 8 }],
      monthFailedOneIn: 300,
    }),
    play({
      name: "billing",
      everyMs: 60_000,
      runs: [{ polls: 70, latency: { minMs: 1_050, maxMs: 1_900 } }],
      monthFailedOneIn: 900,
    }),
    play({ name: "new", everyMs: 15_000, runs: [{ ...UNAVAILABLE, polls: 1 }, { polls: 9 }] }),
  ]),
  holes: snapshotOf([email(), play({ name: "ai-router", everyMs: 15_000, runs: HOLES })]),
  empty: snapshotOf([], { budgets: [] }),
  "own-troubles": snapshotOf([email(), aiRouter()], {
    stateStoreUp: false,
    stateLostAtMs: undefined,
    lastReload: {
      successful: false,
      lastSuccessAtMs: SCENE_NOW_MS - 7_200_000,
      fault: 'pacewatch.yaml:12:5: "upstreams[0].every" must be a duration like 30s, received "soon"',
    },
  }),
};
