import { availabilityOf } from "../../src/features/history/availability.ts";
import type { Announcement } from "../../src/features/announcements/announcement.ts";
import { BURN_WINDOWS } from "../../src/features/history/credit.ts";
import { SLOT_STARTED, SLOT_WAITING } from "../../src/kernel/poll/ports.ts";
import type { AnswerHints } from "../../src/features/hints/fields/answer-hints.ts";
import type { AdvertisedLimit } from "../../src/features/hints/fields/limits.ts";
import type { Price } from "../../src/features/quota/price.ts";
import { quotaNotes, type QuotaRow } from "../../src/features/quota/quota.ts";
import type { Note } from "../../src/kernel/text/notes.ts";
import type { LockRedis } from "../../src/features/fleet/config.ts";
import type { Value } from "../../src/features/values/config.ts";
import { PHASES } from "../../src/kernel/exchange/exchange.ts";
import type { Stream } from "../../src/features/streams/stream.ts";
import { UpstreamAccounts } from "../../src/kernel/metrics/accounts.ts";
import type { BudgetSnapshot, MetricsSnapshot, UpstreamSnapshot } from "../../src/kernel/metrics/snapshot.ts";
import type { ValueSnapshot } from "../../src/features/values/values.ts";
import { COUNTERS, FACTS } from "../../src/app/features/shown.ts";
import { formats } from "../../src/exposition/formats.ts";
import type { CountedBucket } from "../../src/features/history/timeline.ts";
import { type PackedCounts, RollingCounts } from "../../src/features/history/rolling-counts.ts";
import type { History } from "../../src/features/history/history.ts";
import type { Poll } from "../../src/kernel/poll/poll.ts";
import type { FleetStatus, BudgetStatus, Status, UpstreamFacts } from "../../src/features/status/status.ts";
import type { ShownPoint } from "../../src/features/values/facts.ts";
import { readersOf } from "../../src/features/status/facts.ts";
import type { Fields } from "../../src/kernel/text/field.ts";
import { outcomeOf } from "../../src/kernel/exchange/outcome.ts";
import type { PollOfColumn } from "../../src/features/history/timeline.ts";
import { type RouteDeps, routesOf } from "../../src/app/features/routes.ts";
import { PAGE_STYLE_HASH } from "../../src/http/markup/html-start.ts";
import type { RoutesDeps } from "../../src/http/routes/routes.ts";
import { type PollStatus, pollStatusOf } from "../../src/features/history/kept-poll.ts";
import type { Incident } from "../../src/features/history/incidents.ts";
import {
  sampleCron,
  sampleUpstream,
  sampleConfig,
  samplePoll,
  recordPoll,
  POLL_ENDED_AT_MS,
  PROCESS_STARTED_AT_MS,
} from "./kernel-samples.ts";

/**
 * Plain, valid values, so that a test mentions only what it is about. In this order: the config, an exchange and its
 * poll, what the metrics show, what the status page and the JSON API show.
 */

export function sampleValue(changes: Partial<Value> = {}): Value {
  return { name: "credits", path: "/data/credits", unit: "usd", credit: true, ...changes };
}

export function sampleLockRedis(changes: Partial<LockRedis> = {}): LockRedis {
  return {
    nodes: { kind: "single", url: "redis://127.0.0.1:1" },
    username: undefined,
    password: undefined,
    tls: undefined,
    key: "pacewatch",
    ...changes,
  };
}

export function sampleAnswerHints({
  limits = [],
  ...changes
}: Partial<AnswerHints> & { readonly limits?: readonly AdvertisedLimit[] } = {}): AnswerHints {
  return {
    throttled: false,
    pause: undefined,
    families: limits.map(({ requests, perMs }, place) => ({
      key: `limit ${place}`,
      unit: "requests",
      limit: requests,
      remaining: undefined,
      perMs,
      resetMs: undefined,
      resource: undefined,
    })),
    remaining: undefined,
    exhaustedPerMs: undefined,
    malformed: 0,
    ...changes,
  };
}

/** Deprecated, without a date. */
export function sampleAnnouncement(changes: Partial<Announcement> = {}): Announcement {
  return {
    isDeprecated: true,
    deprecatedAtMs: undefined,
    sunsetAtMs: undefined,
    links: [],
    warning: undefined,
    ...changes,
  };
}

/** As they are opened, with all that an upstream can ask for. */
export function sampleAccounts(): UpstreamAccounts {
  const accounts = new UpstreamAccounts("email", PROCESS_STARTED_AT_MS);
  accounts.count(sampleUpstream({ stream: SAMPLE_STREAM, price: SAMPLE_PRICE }), COUNTERS);
  return accounts;
}

/** Accounts of finished polls. */
export function accountsOf(...polls: readonly Poll[]): UpstreamAccounts {
  const accounts = sampleAccounts();
  for (const poll of polls) {
    accounts.record(SLOT_WAITING);
    accounts.record(SLOT_STARTED);
    recordPoll(accounts, poll);
  }
  return accounts;
}

export function sampleUpstreamSnapshot(changes: Partial<UpstreamSnapshot> = {}): UpstreamSnapshot {
  return {
    upstream: sampleUpstream(),
    accounts: sampleAccounts(),
    health: { state: "unknown", isUp: undefined },
    nowMs: POLL_ENDED_AT_MS,
    stalledAtMs: 1_700_000_175_000,
    ...changes,
  };
}

function sampleValueSnapshot(changes: Partial<ValueSnapshot> = {}): ValueSnapshot {
  const burns = BURN_WINDOWS.map((window, index) => ({
    window,
    perSecond: 0.001 / (index + 1),
    emptyAtMs: POLL_ENDED_AT_MS + (index + 1) * 36_000_000,
  }));
  return { value: 36, seenAtMs: POLL_ENDED_AT_MS, isReadable: true, burns, ...changes };
}

export function sampleBudgetSnapshot(changes: Partial<BudgetSnapshot> = {}): BudgetSnapshot {
  return {
    name: "api",
    rates: [{ label: "1m", limit: 60, cap: 12, leases: 3 }],
    advertisedLimit: undefined,
    advertisedRemaining: undefined,
    advertisedLimits: [],
    pausedUntilWallMs: 0,
    refusedWhy: undefined,
    ...changes,
  };
}

export function sampleMetricsSnapshot(changes: Partial<MetricsSnapshot> = {}): MetricsSnapshot {
  return {
    upstreams: [sampleUpstreamSnapshot()],
    budgets: [sampleBudgetSnapshot()],
    config: sampleConfig(),
    nowMs: POLL_ENDED_AT_MS,
    offlineUpstreams: 0,
    reload: { successful: true, lastSuccessAtMs: POLL_ENDED_AT_MS },
    build: { version: "0.1.0", node: "24.0.0" },
    startedAtMs: PROCESS_STARTED_AT_MS,
    ...changes,
  };
}

export const SAMPLE_PRICE: Price = { currency: "EUR", parts: [{ kind: "request", units: 100_000 }] };

/** Every fact that can be known is known. */
/** As OpenAI's chat completions are. */
export const SAMPLE_STREAM: Stream = {
  format: "sse",
  ends: { data: "[DONE]" },
  atMost: 64,
  gapTimeoutMs: undefined,
  counts: { path: "/choices/0/delta/content" },
};

export function fullMetricsSnapshot(): MetricsSnapshot {
  const phasesMs = Object.fromEntries(PHASES.map((phase) => [phase, 10]));
  const announcement = sampleAnnouncement({ sunsetAtMs: POLL_ENDED_AT_MS + 86_400_000 });
  const poll = samplePoll({
    phasesMs,
    certificateExpiresAtMs: POLL_ENDED_AT_MS + 86_400_000,
    said: { announcement, stream: { events: 12, bytes: 3_456, firstEventMs: 80, longestGapMs: 20 } },
  });
  const said = { hints: { malformed: 1 } };
  const failed = samplePoll({ outcome: outcomeOf("timeout"), delayMs: 0, said });
  const accounts = accountsOf(failed, poll);
  accounts.record({ kind: "slots_skipped", cause: "missed", count: 3 });
  return sampleMetricsSnapshot({
    upstreams: [
      sampleUpstreamSnapshot({
        upstream: sampleUpstream({
          url: "https://email.example/v1/resources",
          labels: { team: "growth" },
          values: [sampleValue()],
          price: SAMPLE_PRICE,
          stream: SAMPLE_STREAM,
          schedule: sampleCron("*/15 * 8-17 * * MON-FRI"),
        }),
        accounts,
        health: { state: "up", isUp: true },
        values: [sampleValueSnapshot()],
      }),
    ],
    budgets: [
      sampleBudgetSnapshot({
        advertisedLimit: 60,
        advertisedRemaining: 48,
        quota: { limit: 400_000, perMs: 2_592_000_000, used: 120, unconfirmed: 2, forecast: 172_800 },
        spend: {
          limit: 5,
          perMs: 2_592_000_000,
          used: 1.25,
          unconfirmed: 0,
          forecast: 4.32,
          currency: "EUR",
        },
        quotas: [{ quota: "own", burns: sampleValueSnapshot().burns }],
      }),
    ],
    store: { isUp: true, lostAtMs: POLL_ENDED_AT_MS - 1_000 },
    fleet: { isLeading: true, isLockUp: true, digest: "1k2j3h" },
    notifier: {
      snapshots: [
        {
          name: "ops",
          counts: { delivered: 3, failed: 1, refused: 0 },
          sendMs: POLL_ENDED_AT_MS - 20_000,
        },
      ],
    },
  });
}

export function sampleQuotaNote(changes: Partial<QuotaRow> = {}): Note {
  const [note] = quotaNotes({ rows: [sampleQuotaRow(changes)], lostHours: [] });
  if (note === undefined) throw new Error("a row makes a note");
  return note;
}

/** All of them are confirmed. */
export function sampleQuotaRow(changes: Partial<QuotaRow> = {}): QuotaRow {
  return { budget: "api", of: "requests", hour: 1, requests: 5, unconfirmed: 0, ...changes };
}

export function samplePollStatus(changes: Partial<PollStatus> = {}): PollStatus {
  const phasesMs = { dns: 2, connect: 10, tls: 20, wait: 80, transfer: 8 };
  const poll = samplePoll({ sentAtMs: 99_000, durationMs: 120, phasesMs, detail: "" });
  return { ...pollStatusOf(poll), ...changes };
}

export function sampleUpstreamStatus(changes: Partial<UpstreamFacts> & Fields = {}): UpstreamFacts {
  const { lastPolls = [samplePollStatus()] } = changes;
  return {
    name: "ai-router",
    url: "https://ai.example/v1/resources",
    method: "GET",
    budgets: ["ai-router"],
    labels: { team: "growth" },
    schedule: { source: "every 15s", longestGapMs: 15_000 },
    objective: { availability: 0.995, latencyMs: 1000 },
    degradedAboveMs: 2000,
    health: { state: "up", sinceMs: 5000, up: true },
    pausedUntilMs: 0,
    nextSlotAtMs: 105_000,
    certificateExpiresAtMs: undefined,
    counts: { slots: 10, polls: 8, inFlight: 1, waiting: 0, skipped: 1 },
    skips: [{ cause: "budget", count: 1 }],
    skippedSincePoll: [],
    latency: { polls: 8, p50Ms: 100, p95Ms: 200, p99Ms: 1240 },
    missedLastHour: [],
    availability: [availabilityOf(3_600_000, { watchedMs: 1_200_000, failedMs: 150_000 })],
    lastFailures: [],
    ...changes,
    lastPolls,
    lastPoll: lastPolls.at(-1),
  };
}

export function sampleBudgetStatus(changes: Partial<BudgetStatus> & Fields = {}): BudgetStatus {
  return {
    name: "ai-router",
    share: 0.2,
    rates: [{ label: "1m", limit: 60, cap: 12, leases: 4 }],
    pausedUntilMs: 0,
    ...changes,
  };
}

/** As a former life left them, whatever their length. */
export function packedBuckets(buckets: readonly CountedBucket[]): PackedCounts {
  const counts = new RollingCounts(1, buckets.length);
  for (const bucket of buckets) counts.restore(bucket);
  return counts.packed;
}

export function sampleBucket(changes: Partial<CountedBucket> = {}): CountedBucket {
  const counts = { ok: 0, failed: 0, throttled: 0, rejected: 0, ours: 0 };
  return {
    index: 0,
    ...counts,
    okMs: 0,
    longestMs: 0,
    watchedMs: 0,
    failedMs: 0,
    withinObjective: 0,
    ...changes,
  };
}

/** A status as plain lists. */
export type StatusLists = Omit<
  Status,
  | "names"
  | "upstreams"
  | "facts"
  | "shown"
  | "details"
  | "columns"
  | "incidentsOf"
  | "budgets"
  | "budget"
  | "endingsIn"
  | "usedUp"
  | "remarksOn"
> & {
  /** By upstream. */
  readonly histories?: Readonly<Record<string, Pick<History, "columns">>>;
  /** Of the last day, by upstream. */
  readonly polls?: Readonly<Record<string, readonly PollOfColumn[]>>;
  readonly upstreams: readonly (UpstreamFacts & Fields)[];
  readonly incidents: readonly Incident[];
  readonly budgets: readonly (BudgetStatus & Fields)[];
  /** By the name of a value. */
  readonly valueHistories: Readonly<Record<string, readonly ShownPoint[]>>;
};

export function statusOf({
  incidents,
  budgets,
  valueHistories,
  histories = {},
  ...own
}: StatusLists): Status {
  return {
    ...own,
    names: own.upstreams.map(({ name }) => name),
    columns: (upstream, range) =>
      histories[upstream]?.columns(range, own.nowMs) ?? {
        columnMs: range.columnMs,
        columns: [],
        areQuantiles: false,
      },
    facts: (upstream) => own.upstreams.find(({ name }) => name === upstream),
    shown: (upstream) => own.upstreams.find(({ name }) => name === upstream) ?? {},
    details: () => ({
      valueHistories: Object.entries(valueHistories).map(([name, points]) => ({ name, points })),
    }),
    ...readersOf(FACTS),
    usedUp: () => undefined,
    incidentsOf: (name) => incidents.filter(({ upstream }) => upstream === name),
    budgets: budgets.map(({ name }) => name),
    budget: (name) => budgets.find((budget) => budget.name === name),
  };
}

export function sampleStatusLists(changes: Partial<StatusLists> = {}): StatusLists {
  return {
    version: "0.1.0",
    startedAtMs: 1000,
    nowMs: 100_000,
    ready: true,
    offline: false,
    stateStoreUp: undefined,
    stateLostAtMs: undefined,
    lastReload: { successful: true, lastSuccessAtMs: 1000 },
    upstreams: [sampleUpstreamStatus()],
    budgets: [sampleBudgetStatus()],
    incidents: [],
    valueHistories: {},
    ...changes,
  };
}

export function sampleStatus(changes: Partial<StatusLists> = {}): Status {
  return statusOf(sampleStatusLists(changes));
}

/** It stands by. */
export function sampleFleetStatus(changes: Partial<FleetStatus> = {}): FleetStatus {
  return {
    name: "b",
    isLeading: false,
    leader: { name: "a", url: "http://10.0.0.7:10429/", sinceMs: POLL_ENDED_AT_MS - 3_600_000 },
    ...changes,
  };
}

export type SampleRoutesDeps = RoutesDeps & RouteDeps;

export function sampleRoutesDeps(changes: Partial<SampleRoutesDeps> = {}): SampleRoutesDeps {
  const deps: RouteDeps & Omit<RoutesDeps, "features"> = {
    status: () => sampleStatus(),
    columns: () => Promise.resolve(undefined),
    metrics: formats(() => ["pacewatch_slots_total 1\n"]),
    reload: () => Promise.resolve({ kind: "reloaded" }),
    resume: () => true,
    config: () => sampleConfig(),
    shown: () => '{"upstreams":[]}',
    lifecycleEnabled: () => false,
    ready: () => true,
    styleHash: PAGE_STYLE_HASH,
    ...changes,
  };
  return { features: routesOf(deps), ...deps };
}
