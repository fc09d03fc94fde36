import type { Sla } from "../../../src/features/report/config.ts";
import { type Period, periodOf } from "../../../src/features/report/period.ts";
import {
  type Kept,
  type Figures,
  type KeptIncident,
  type Report,
  reportedOf,
  upstreamReport,
} from "../../../src/features/report/report.ts";
import { hash32 } from "../../../src/kernel/schedule/hash.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../src/kernel/time/duration.ts";
import type { ReportQuestion } from "../../../src/features/report/question.ts";
import { seededRandom } from "../../../src/simulator/randomness.ts";
import { sampleUpstream } from "../kernel-samples.ts";
import { samplePollStatus } from "../samples.ts";
import { SCENE_NOW_MS } from "./page-scenes.ts";
import type { PollStatus } from "../../../src/features/history/kept-poll.ts";

export const REPORT_PATH = "report?month=2026-10";
/** A4, upright, between the margins that Chromium leaves. */
export const PAPER_PX = 718;

/** A report with what makes tables wide: long names, ids and answers, and great numbers. */
export function reportScene({ upstreams, asked }: Pick<ReportQuestion, "upstreams" | "asked">): Report {
  return {
    version: 1,
    atMs: SCENE_NOW_MS,
    upstreams: upstreams.map(({ name }, place) => {
      const sla = place % 2 === 0 ? SLA : undefined;
      const period = periodOf(asked, sla?.timeZone ?? "UTC", SCENE_NOW_MS);
      const reported = { ...reportedOf(sampleUpstream({ name, labels: LABELS })), sla };
      // One is in the config since this month.
      return upstreamReport(reported, place === 3 ? [] : [keptOf(name, period)], period, SCENE_NOW_MS);
    }),
  };
}

const LABELS = { account: "acme-production", team: "growth" };

const SLA: Sla = {
  atLeast: 0.9995,
  unit: "minute",
  badUnit: "all_failed",
  credits: [
    { below: 0.9999, credit: 0.1 },
    { below: 0.9993, credit: 0.25 },
  ],
  claimWithinMs: 30 * DAY_MS,
  timeZone: "America/Argentina/Buenos_Aires",
};

function keptOf(name: string, { fromMs, days, months }: Period): Kept {
  const random = seededRandom(hash32(name));
  return {
    days: days.map((_, place) => (place === 12 ? undefined : dayOf(random))),
    costs: months.flatMap(({ name: month }) => [
      { month, currency: "EUR", polls: 178_560, units: 1_785_600_000_000 },
      { month, currency: "USD", polls: 12_345, units: 1_234_567 },
    ]),
    incidents: () =>
      INCIDENTS.map(({ atMs, lastsMs, ...incident }) => ({
        ...incident,
        upstream: name,
        startedAtMs: fromMs + atMs,
        ...(lastsMs === undefined ? { endedAtMs: undefined } : { endedAtMs: fromMs + atMs + lastsMs }),
        seenAtMs: SCENE_NOW_MS,
        evidence: incident.evidence.map((poll) => ({ ...poll, atMs: fromMs + atMs + poll.atMs })),
      })),
  };
}

function dayOf(random: () => number): Figures {
  const polls = 5_760;
  const failed = random() < 0.6 ? 0 : Math.ceil(random() * 240);
  const [throttled, rejected] = [Math.floor(random() * 3), Math.floor(random() * 1.2)];
  const ok = polls - failed - throttled - rejected - 4;
  return {
    polls,
    ok,
    failed,
    throttled,
    rejected,
    offline: 3,
    withinObjective: ok - Math.floor(random() * 40),
    okMs: ok * (80 + random() * 60),
    slowestMs: 1_000 + random() * 28_000,
    watchedMs: 1_438 * 60_000,
    failedMs: failed * 15_000,
    watchedMinutes: 1_438,
    badMinutes: Math.floor(failed / 4),
  };
}

type SceneIncident = Pick<KeptIncident, "state" | "reason" | "polls" | "isUnwatched" | "evidence"> & {
  /** After the beginning of the period, as the times of its evidence are after this. */
  readonly atMs: number;
  /** Undefined for one that goes on. */
  readonly lastsMs: number | undefined;
};

const poll = (changes: Partial<PollStatus>): PollStatus =>
  samplePollStatus({ outcome: "failed", detail: "", ...changes });

const REQUEST_IDS = [
  { name: "x-request-id", bytes: 36, value: "0198f1c2-77aa-7c1e-9d1a-0242ac120002" },
  {
    name: "x-amz-id-2",
    bytes: 76,
    value: "eftixk72aD6Ap51TnqcoF8eFidJG9Z/2mkiDFu8yU9AS1ed4OpIszj7UDNEHGranwq0cEXAMPLE=",
  },
];

const UNAVAILABLE = {
  reason: "server_error",
  status: 503,
  detail: "answered 503",
  headers: REQUEST_IDS,
  excerpt:
    '{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"upstream connect error or disconnect/reset before headers. reset reason: overflow","instance":"/v1/resources/9f3c"}',
};

const INCIDENTS: readonly SceneIncident[] = [
  {
    state: "down",
    reason: "server_error",
    polls: 1_443,
    atMs: 3 * DAY_MS + 10 * HOUR_MS,
    lastsMs: 6 * HOUR_MS + 3 * MINUTE_MS + 20 * SECOND_MS,
    evidence: [
      poll({ ...UNAVAILABLE, atMs: -20 }),
      poll({ ...UNAVAILABLE, atMs: 15 * SECOND_MS }),
      poll({
        reason: "timeout",
        atMs: 6 * HOUR_MS,
        durationMs: 10_003,
        phasesMs: { dns: 1.4, connect: 10.2, tls: 21.7, wait: 9_967 },
        status: undefined,
        detail: "timed out after 10000 ms while waiting for the answer",
      }),
    ],
  },
  {
    state: "throttled",
    reason: "rate",
    polls: 12,
    atMs: 8 * DAY_MS,
    lastsMs: 3 * MINUTE_MS,
    evidence: [
      poll({
        outcome: "throttled",
        reason: "rate",
        status: 429,
        atMs: -20,
        detail: "answered 429: too many requests",
        headers: REQUEST_IDS.slice(0, 1),
        excerpt:
          "Rate limit reached for gpt-5.5-mini in organization org-0123456789abcdef on requests per min",
      }),
    ],
  },
  {
    state: "unauthorized",
    reason: "unauthorized",
    polls: 7,
    atMs: 14 * DAY_MS,
    lastsMs: 20 * MINUTE_MS,
    isUnwatched: true,
    evidence: [poll({ outcome: "rejected", reason: "unauthorized", status: 401, atMs: -20 })],
  },
  {
    state: "down",
    reason: "offline",
    polls: 3,
    atMs: 20 * DAY_MS,
    lastsMs: 45 * SECOND_MS,
    evidence: [
      poll({
        outcome: "ours",
        reason: "offline",
        status: undefined,
        atMs: -20,
        durationMs: 4,
        phasesMs: { dns: 4.2 },
        detail: "the name cannot be resolved: ENOTFOUND",
      }),
    ],
  },
  {
    state: "down",
    reason: "invalid_body",
    polls: 2_880,
    atMs: 30 * DAY_MS + 22 * HOUR_MS,
    lastsMs: undefined,
    evidence: [
      poll({
        reason: "invalid_body",
        status: 200,
        atMs: -20,
        detail: "the body must be JSON",
        excerpt: "<!doctype html><html><head><title>Scheduled maintenance</title></head>",
      }),
    ],
  },
];
