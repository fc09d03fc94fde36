import { expect, test } from "vitest";
import { type KeptQuotas, NOBODY_KNOWS, quotaNotes, quotasIn } from "../../../src/features/quota/quota.ts";
import { HELD, heldNote, NOTHING_HELD } from "../../../src/features/hints/record.ts";
import { leftIn, rowsOf } from "../../../src/features/fleet/handover.ts";
import { type SeenBefore, seenIn, seenNote } from "../../../src/features/history/incidents.ts";
import {
  type Notified,
  receiverNote,
  rememberedIn,
  toldNote,
} from "../../../src/features/notify/plan/transitions.ts";
import { PAUSES } from "../../../src/features/hints/pauses.ts";
import { type Left, type Note, notesOf } from "../../../src/kernel/text/notes.ts";

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

const QUOTAS: KeptQuotas = {
  rows: [
    { budget: "api", of: "requests", hour: HOUR - 1, requests: NOBODY_KNOWS, unconfirmed: 0 },
    { budget: "api", of: "requests", hour: HOUR, requests: 12, unconfirmed: 2 },
    { budget: "api", of: "money", hour: HOUR, requests: 5_000_000, unconfirmed: 0 },
  ],
  lostHours: [HOUR - 3],
};
const HELD_NOW = { ...NOTHING_HELD, pausedUntilMs: NOW_MS + 30_000, upstreams: ["email"] };
const SEEN: SeenBefore = {
  state: "down",
  isUp: false,
  sinceMs: NOW_MS - 60_000,
  lastPollAtMs: NOW_MS - 1_000,
  knownUntilMs: NOW_MS + 45_000,
  incident: { state: "down", reason: "timeout", startedAtMs: NOW_MS - 60_000, polls: 4 },
};

function pauseNote(untilMs: number): Note {
  return { kind: PAUSES.name, key: "email", json: untilMs };
}

const NOTES: readonly Note[] = [
  ...quotaNotes(QUOTAS),
  heldNote("api", HELD_NOW),
  pauseNote(NOW_MS + 60_000),
  receiverNote("pager", 1_000),
  toldNote(notified("email/1")),
  seenNote("email", SEEN),
];

/** As a register keeps it. */
function left(notes: readonly Note[], wallMs = NOW_MS): (Left & { readonly atMs: number }) | undefined {
  return leftIn(JSON.parse(JSON.stringify({ atMs: NOW_MS, rows: rowsOf(notes) })), wallMs);
}

function inOrder({ rows, lostHours }: KeptQuotas): KeptQuotas {
  return { rows: rows.toSorted((a, b) => b.of.localeCompare(a.of) || a.hour - b.hour), lostHours };
}

function homes(...all: readonly (Left | undefined)[]): readonly Left[] {
  return all.filter((each) => each !== undefined);
}

test("the next leader finds what the one before it knew", () => {
  const found = homes(left(NOTES));
  expect(left(NOTES)?.atMs).toBe(NOW_MS);
  expect(inOrder(quotasIn(found))).toEqual(QUOTAS);
  expect(notesOf(HELD, found)).toEqual(new Map([["api", HELD_NOW]]));
  expect(notesOf(PAUSES, found)).toEqual(new Map([["email", NOW_MS + 60_000]]));
  expect(rememberedIn(found)).toEqual({
    since: new Map([["pager", 1_000]]),
    notified: [notified("email/1")],
  });
  expect(seenIn(found)).toEqual(new Map([["email", SEEN]]));
});

test("a pause lasts as long as when it was written, by a wall clock that shows something else", () => {
  for (const byMs of [-7_200_000, 0, 5_000, 86_400_000]) {
    const found = homes(left(NOTES, NOW_MS + byMs));
    const held = notesOf(HELD, found).get("api");
    expect(held?.pausedUntilMs).toBe(NOW_MS + byMs + 30_000);
    expect(held?.yieldUntilMs).toBe(0);
    expect(notesOf(PAUSES, found).get("email")).toBe(NOW_MS + byMs + 60_000);
    // What people read, and ids are made of, stays.
    expect(seenIn(found).get("email")?.incident?.startedAtMs).toBe(NOW_MS - 60_000);
  }
});

test("where there is too much, what is needed least is left out, and quotas and pauses never are", () => {
  const closed = Array.from({ length: 3_000 }, (_, index) =>
    toldNote(notified(`email/${index}`, { state: "closed", atMs: NOW_MS - index })),
  );
  const notes = [...closed, ...NOTES, toldNote(notified("open"))];
  const rows = rowsOf(notes);
  expect(JSON.stringify(rows).length).toBeLessThan(200 * 1_024);
  expect(notes.length - rows.length).toBeGreaterThan(1_000);
  const found = homes(left(notes));
  expect(inOrder(quotasIn(found))).toEqual(QUOTAS);
  expect(notesOf(PAUSES, found).size).toBe(1);
  expect(seenIn(found)).toEqual(new Map([["email", SEEN]]));
  const told = rememberedIn(found).notified.map(({ alert }) => alert);
  // The newest of what is over.
  expect(told.slice(0, 3)).toEqual(["email/1", "open", "email/0"]);
});

test.each([undefined, null, 7, "facts", {}, { atMs: "now", rows: [] }, { atMs: 1, rows: {} }])(
  "what is none of ours is nothing: %j",
  (facts) => {
    expect(leftIn(facts, NOW_MS)).toBeUndefined();
  },
);

test("a row that nobody of ours would write costs itself, and no other", () => {
  const day = Math.floor(HOUR / 24);
  const rows = [
    ["quota", `${day} requests api`, [[HOUR, -7, 0]]],
    ["quota", `${day} hours api`, [[HOUR, 1, 0]]],
    ["budget", "api", { pausedUntilMs: "long" }],
    ["pause", "email", NOW_MS + 1_000],
    ["upstream", "email", { state: "asleep" }],
    ["told", "x", { receiver: 7 }],
    ["of a feature that is not here", "x", 1],
  ];
  const found = homes(leftIn({ atMs: NOW_MS, rows }, NOW_MS));
  expect(quotasIn(found).rows).toEqual([]);
  expect(notesOf(HELD, found).size).toBe(0);
  expect(notesOf(PAUSES, found)).toEqual(new Map([["email", NOW_MS + 1_000]]));
  expect(seenIn(found).size).toBe(0);
  expect(rememberedIn(found).notified).toEqual([]);
});

test("of what a state file and a leader know, the stricter counts, and the newer of what was told", () => {
  const notes = [
    ...quotaNotes({
      rows: [
        { budget: "api", of: "requests", hour: HOUR, requests: 20, unconfirmed: 0 },
        { budget: "api", of: "requests", hour: HOUR - 2, requests: 3, unconfirmed: 0 },
      ],
      lostHours: [HOUR - 9],
    }),
    heldNote("api", { ...NOTHING_HELD, pausedUntilMs: NOW_MS + 90_000, refusals: 2 }),
    pauseNote(NOW_MS + 1_000),
    receiverNote("pager", 500),
    toldNote(notified("email/1", { state: "closed", atMs: NOW_MS })),
  ];
  const both = homes({ notes }, left(NOTES));
  const counted = quotasIn(both);
  const requests = counted.rows.filter(({ of }) => of === "requests");
  expect(
    requests
      .map(({ hour, requests: units }) => [HOUR - hour, units])
      .toSorted(([one = 0], [other = 0]) => one - other),
  ).toEqual([
    [0, 20],
    [1, NOBODY_KNOWS],
    [2, 3],
  ]);
  expect(counted.lostHours).toEqual([HOUR - 9, HOUR - 3]);
  expect(notesOf(HELD, both).get("api")).toMatchObject({
    pausedUntilMs: NOW_MS + 90_000,
    refusals: 2,
    upstreams: ["email"],
  });
  expect(notesOf(PAUSES, both).get("email")).toBe(NOW_MS + 60_000);
  const told = rememberedIn(both);
  expect(told.since.get("pager")).toBe(500);
  expect(told.notified).toEqual([notified("email/1", { state: "closed", atMs: NOW_MS })]);
  expect(quotasIn(both.toReversed()).rows.length).toBe(counted.rows.length);
});
