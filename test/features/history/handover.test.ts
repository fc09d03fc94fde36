import { expect, test } from "vitest";
import { NOBODY_KNOWS } from "../../../src/features/quota/quota.ts";
import { NOTHING_HELD } from "../../../src/features/hints/record.ts";
import {
  factsOf,
  type Handover,
  joined,
  readFacts,
  withAllUsed,
} from "../../../src/features/history/handover.ts";
import { NOTHING_STANDING } from "../../../src/features/history/state.ts";
import type { Notified } from "../../../src/features/notify/plan/transitions.ts";

const NOW_MS = 1_790_000_000_000;
const HOUR = Math.floor(NOW_MS / 3_600_000);

function notified(alert: string, changes: Partial<Notified> = {}): Notified {
  return {
    receiver: "pager",
    alert,
    state: "notified",
    subject: "email",
    upstream: "email",
    kind: "down",
    startedAtMs: NOW_MS - 60_000,
    atMs: NOW_MS - 50_000,
    thread: alert,
    side: "them",
    ...changes,
  };
}

const HANDOVER: Handover = {
  quotas: {
    rows: [
      { budget: "api", of: "requests", hour: HOUR, requests: 12, unconfirmed: 2 },
      { budget: "api", of: "requests", hour: HOUR - 1, requests: NOBODY_KNOWS, unconfirmed: 0 },
      { budget: "api", of: "money", hour: HOUR, requests: 5_000_000, unconfirmed: 0 },
    ],
    lostHours: [HOUR - 3],
  },
  budgets: new Map([
    ["api", { ...NOTHING_HELD, pausedUntilMs: NOW_MS + 30_000, upstreams: ["email"] }],
    ["idle", NOTHING_HELD],
  ]),
  pauses: new Map([["email", { pausedUntilMs: NOW_MS + 60_000 }]]),
  notifications: { since: new Map([["pager", 1_000]]), notified: [notified("email/1")] },
  seen: new Map([
    [
      "email",
      {
        state: "down",
        isUp: false,
        sinceMs: NOW_MS - 60_000,
        lastPollAtMs: NOW_MS - 1_000,
        knownUntilMs: NOW_MS + 45_000,
        incident: { state: "down", reason: "timeout", startedAtMs: NOW_MS - 60_000, polls: 4 },
      },
    ],
  ]),
};

/** As a register keeps it. */
function kept(handover: Handover, wallMs = NOW_MS): unknown {
  return JSON.parse(JSON.stringify(factsOf(handover, wallMs).facts));
}

test("the next leader finds what the one before it knew", () => {
  const { atMs, budgets, ...found } = readFacts(kept(HANDOVER), NOW_MS) ?? { budgets: new Map() };
  expect(atMs).toBe(NOW_MS);
  const { budgets: _, ...rest } = HANDOVER;
  expect(found).toEqual(rest);
  // Of one that holds nothing, nothing is written.
  expect([...budgets.keys()]).toEqual(["api"]);
});

test("a pause lasts as long as when it was written, by a wall clock that shows something else", () => {
  for (const byMs of [-7_200_000, 0, 5_000, 86_400_000]) {
    const found = readFacts(kept(HANDOVER), NOW_MS + byMs);
    expect(found?.budgets.get("api")?.pausedUntilMs).toBe(NOW_MS + byMs + 30_000);
    expect(found?.budgets.get("api")?.yieldUntilMs).toBe(0);
    expect(found?.pauses.get("email")?.pausedUntilMs).toBe(NOW_MS + byMs + 60_000);
    // What people read, and ids are made of, stays.
    expect(found?.seen.get("email")?.incident?.startedAtMs).toBe(NOW_MS - 60_000);
  }
});

test("where there is too much, what is needed least is left out, and quotas and pauses never are", () => {
  const closed = Array.from({ length: 3_000 }, (_, index) =>
    notified(`email/${index}`, { state: "closed", atMs: NOW_MS - index }),
  );
  const notifications = { ...HANDOVER.notifications, notified: [...closed, notified("open")] };
  const { facts, leftOut } = factsOf({ ...HANDOVER, notifications }, NOW_MS);
  expect(JSON.stringify(facts).length).toBeLessThan(200 * 1_024);
  expect(leftOut).toBeGreaterThan(1_000);
  const found = readFacts(JSON.parse(JSON.stringify(facts)), NOW_MS);
  expect(found?.quotas).toEqual(HANDOVER.quotas);
  expect(found?.pauses).toEqual(HANDOVER.pauses);
  expect(found?.seen).toEqual(HANDOVER.seen);
  expect(found?.notifications.notified[0]).toEqual(notified("open"));
  // The newest of what is over.
  expect(found?.notifications.notified[1]?.alert).toBe("email/0");
});

test.each([undefined, null, 7, "facts", {}, { atMs: "now", rows: [] }, { atMs: 1, rows: {} }])(
  "what is none of ours is nothing: %j",
  (facts) => {
    expect(readFacts(facts, NOW_MS)).toBeUndefined();
  },
);

test("a row that nobody of ours would write costs itself, and no other", () => {
  const rows = [
    ["quota", "requests api", [[HOUR, -7, 0]]],
    ["quota", "hours api", [[HOUR, 1, 0]]],
    ["budget", "api", { pausedUntilMs: "long" }],
    ["pause", "email", NOW_MS + 1_000],
    ["upstream", "email", { state: "asleep" }],
    ["open", "x", { receiver: 7 }],
  ];
  const found = readFacts({ atMs: NOW_MS, rows }, NOW_MS);
  expect(found?.quotas.rows).toEqual([]);
  expect(found?.budgets.size).toBe(0);
  expect(found?.pauses).toEqual(new Map([["email", { pausedUntilMs: NOW_MS + 1_000 }]]));
  expect(found?.seen.size).toBe(0);
  expect(found?.notifications.notified).toEqual([]);
});

test("of what a state file and a leader know, the stricter counts, and the newer of what was told", () => {
  const own = {
    ...NOTHING_STANDING,
    quotas: {
      rows: [
        { budget: "api", of: "requests", hour: HOUR, requests: 20, unconfirmed: 0 },
        { budget: "api", of: "requests", hour: HOUR - 2, requests: 3, unconfirmed: 0 },
      ],
      lostHours: [HOUR - 9],
    },
    budgets: new Map([["api", { ...NOTHING_HELD, pausedUntilMs: NOW_MS + 90_000, refusals: 2 }]]),
    pauses: new Map([["email", { pausedUntilMs: NOW_MS + 1_000 }]]),
    notifications: {
      since: new Map([["pager", 500]]),
      notified: [notified("email/1", { state: "closed", atMs: NOW_MS })],
    },
  } as const;
  const both = joined(own, HANDOVER);
  const requests = both.quotas.rows.filter(({ of }) => of === "requests");
  expect(
    requests
      .map(({ hour, requests: units }) => [HOUR - hour, units])
      .toSorted(([one = 0], [other = 0]) => one - other),
  ).toEqual([
    [0, 20],
    [1, NOBODY_KNOWS],
    [2, 3],
  ]);
  expect(both.quotas.lostHours).toEqual([HOUR - 9, HOUR - 3]);
  expect(both.budgets.get("api")).toMatchObject({
    pausedUntilMs: NOW_MS + 90_000,
    refusals: 2,
    upstreams: ["email"],
  });
  expect(both.pauses.get("email")?.pausedUntilMs).toBe(NOW_MS + 60_000);
  expect(both.notifications.since.get("pager")).toBe(500);
  expect(both.notifications.notified).toEqual([notified("email/1", { state: "closed", atMs: NOW_MS })]);
  expect(joined(HANDOVER, own).quotas.rows.length).toBe(both.quotas.rows.length);
});

test("where a leader's notes are gone, nobody knows what was used", () => {
  const { quotas } = withAllUsed(NOTHING_STANDING, NOW_MS);
  expect(quotas.lostHours).toEqual([HOUR]);
});
