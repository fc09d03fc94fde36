import type { Headers } from "../../src/core/exchange/exchange.ts";
import type { StatusSnapshot } from "../../src/core/status/status.ts";
import { SCENE_NOW_MS, snapshotOf, tell, type Chapter, type Told } from "./page-scenes.ts";

const PROBLEM_HEADERS: Headers = [
  ["content-type", "application/problem+json"],
  ["date", "Sat, 21 Nov 2026 12:17:00 GMT"],
  ["x-request-id", "0198f1c2-77aa-7c1e-9d1a-0242ac120002"],
];

const UNAVAILABLE: Chapter = {
  polls: 4,
  outcome: { kind: "failed", reason: "server_error" },
  status: 503,
  detail: "answered 503",
  headers: PROBLEM_HEADERS,
  excerpt: '{"type":"about:blank","title":"Service Unavailable","status":503}',
};

const TIMED_OUT: Chapter = {
  polls: 7,
  outcome: { kind: "failed", reason: "timeout" },
  latency: { minMs: 10_001, maxMs: 10_008 },
  phasesMs: { dns: 1.4, connect: 10.2, tls: 21.7, wait: 9_967 },
  detail: "timed out after 10000 ms while waiting for an answer",
};

const KEY_REFUSED: Chapter = {
  polls: 12,
  outcome: { kind: "failed", reason: "unauthorized" },
  status: 401,
  latency: { minMs: 35, maxMs: 60 },
  detail: "answered 401: the key was not accepted",
  headers: [...PROBLEM_HEADERS, ["www-authenticate", "Bearer"]],
  excerpt: '{"type":"about:blank","title":"Unauthorized","status":401,"key":"<secret>"}',
};

const THROTTLED: Chapter = {
  polls: 1,
  outcome: { kind: "throttled", throttle: "rate" },
  status: 429,
  latency: { minMs: 35, maxMs: 40 },
  detail: "answered 429: too many requests",
  headers: [...PROBLEM_HEADERS, ["retry-after", "40"]],
  excerpt: '{"type":"about:blank","title":"Too Many Requests","status":429}',
};

const UNREACHABLE: Chapter = {
  polls: 9,
  outcome: { kind: "failed", reason: "dns" },
  latency: { minMs: 2, maxMs: 9 },
  phasesMs: { dns: 4.2 },
  detail: "the name cannot be resolved: ENOTFOUND",
};

const SLOW: Chapter = { polls: 9, latency: { minMs: 2_050, maxMs: 3_400 } };

/** Every state that an upstream can be in. */
export const CHAPTERS: Readonly<Record<string, readonly Chapter[]>> = {
  well: [{ polls: 60 }],
  down: [{ polls: 44 }, UNAVAILABLE, { polls: 1 }, TIMED_OUT],
  unauthorized: [{ polls: 48 }, KEY_REFUSED],
  throttled: [{ polls: 55 }, THROTTLED],
  slow: [{ polls: 45 }, { polls: 3, latency: { minMs: 600, maxMs: 1_900 } }, SLOW],
  offline: [{ polls: 48 }, UNREACHABLE],
  new: [],
};

function email(story = "well"): Told {
  return tell({ name: "email", everyMs: 5_000, chapters: CHAPTERS[story] ?? [], monthFailedOneIn: 900 });
}

function aiRouter(story = "well"): Told {
  return tell({ name: "ai-router", everyMs: 15_000, chapters: CHAPTERS[story] ?? [], monthFailedOneIn: 300 });
}

function paused(snapshot: StatusSnapshot): StatusSnapshot {
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
const BLIND_FOR_SLOTS = [{ cause: "budget" as const, count: 4 }];

/** The page when all is well, and in each trouble. */
export const SCENES: Readonly<Record<string, StatusSnapshot>> = {
  well: snapshotOf([email(), aiRouter()]),
  down: snapshotOf([email(), aiRouter("down")]),
  unauthorized: snapshotOf([email("unauthorized"), aiRouter()]),
  throttled: paused(snapshotOf([email(), aiRouter("throttled")])),
  slow: snapshotOf([email("slow"), aiRouter()]),
  offline: snapshotOf([email("offline"), aiRouter("offline")]),
  unlooked: snapshotOf([
    email(),
    tell({
      name: "ai-router",
      everyMs: 15_000,
      chapters: [{ polls: 52 }],
      monthFailedOneIn: 300,
      skipped: BLIND_FOR_SLOTS,
    }),
  ]),
  new: snapshotOf(
    [
      tell({ name: "email", everyMs: 5_000, chapters: [] }, NOT_YET),
      tell({ name: "ai-router", everyMs: 15_000, chapters: [] }, NOT_YET),
    ].map(({ upstream, incidents }) => ({
      upstream: { ...upstream, health: { ...upstream.health, sinceMs: SCENE_NOW_MS - 700 } },
      incidents,
    })),
    {
      startedAtMs: SCENE_NOW_MS - 900,
      stateStoreUp: undefined,
      budgets: snapshotOf([]).budgets.map((budget) => ({
        ...budget,
        rates: budget.rates.map((rate) => ({ ...rate, leases: 0 })),
        advertised: undefined,
        quota: budget.quota && { ...budget.quota, used: 0 },
      })),
    },
  ),
  empty: snapshotOf([], { budgets: [] }),
  "own-troubles": snapshotOf([email(), aiRouter()], {
    stateStoreUp: false,
    lastReload: { successful: false, lastSuccessAtMs: SCENE_NOW_MS - 7_200_000 },
  }),
};
