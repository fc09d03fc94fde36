import { expect, test } from "vitest";
import {
  type KeptQuotas,
  NOBODY_KNOWS,
  QuotaCount,
  quotaNotes,
  quotasIn,
} from "../../../src/features/quota/quota.ts";
import { HELD, heldNote, NOTHING_HELD } from "../../../src/features/hints/record.ts";
import { fitting } from "../../../src/features/fleet/lead/facts.ts";
import { foundIn, notesText } from "../../../src/features/fleet/lead/notes.ts";
import { Reign, type ReignParts } from "../../../src/features/fleet/lead/reign.ts";
import { type SeenBefore, seenIn, seenNote } from "../../../src/features/history/incidents.ts";
import {
  type Notified,
  receiverNote,
  rememberedIn,
  toldNote,
} from "../../../src/features/notify/plan/transitions.ts";
import { PAUSES } from "../../../src/features/hints/pauses.ts";
import { type Left, type Note, notesOf } from "../../../src/kernel/text/notes.ts";

import { eventually } from "../../support/eventually.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

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

const MOST_BYTES = 192 * 1_024;

type Kept = { readonly written: string[]; value: string | undefined };

/** It leads by a register that does as it is told, until `isLeading` is false. */
function reignOf(kept: Kept, parts: Partial<ReignParts> = {}): Reign {
  const silent = (): void => {};
  return new Reign({
    term: 2,
    isAfterLeader: true,
    found: undefined,
    ttlMs: 10_000,
    notes: {
      read: async () => ({ era: "1", value: kept.value, version: "1", isSure: true }),
      write: async (text) => {
        kept.written.push(text);
        kept.value = text;
        return { kind: "written", version: "2" };
      },
    },
    terms: () => [],
    clock: new VirtualClock(),
    log: { debug: silent, info: silent, warn: silent, error: silent },
    luck: () => ({ part: 0.5, id: "m" }),
    right: () => "send",
    onNoted: () => {},
    ...parts,
  });
}

type Found = (Left & { readonly atMs: number }) | undefined;

/** What the next leader finds where these stand in the register. */
function leftBy(text: string, wallMs: number): Found {
  const found = foundIn({ era: "1", value: text, version: "1", isSure: true }, undefined, 0);
  const clock = new VirtualClock({ wallMs });
  return reignOf({ written: [], value: text }, { clock, found }).left;
}

function left(notes: readonly Note[], wallMs = NOW_MS): Found {
  const facts = { atMs: NOW_MS, notes: fitting(notes, MOST_BYTES) };
  return leftBy(notesText("n", new Map(), facts), wallMs);
}

function leftAs(facts: unknown): Found {
  const others = JSON.parse(notesText("n", new Map(), undefined));
  return leftBy(JSON.stringify({ ...others, facts }), NOW_MS);
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
  const rows = fitting(notes, MOST_BYTES).map(({ kind, key, json }) => [kind, key, json]);
  expect(JSON.stringify(rows).length).toBeLessThanOrEqual(MOST_BYTES);
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
    expect(leftAs(facts)).toBeUndefined();
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
  const found = homes(leftAs({ atMs: NOW_MS, rows }));
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

const MONTH = { most: 1e15, perMs: 30 * 86_400_000, onExhaust: "stop" } as const;

test("of fifty quotas of a month, none is told less than was sent, nor for much longer, also to one with a state file", () => {
  let hour = HOUR;
  const counts = Array.from({ length: 50 }, (_, index) => {
    const of = index % 2 === 0 ? "requests" : "money";
    const count = new QuotaCount({ budget: `customer-${index}`, of }, () => hour * 3_600_000);
    count.change(MONTH);
    return count;
  });
  for (; hour < HOUR + 40 * 24; hour += 1)
    for (const [index, count] of counts.entries()) count.end(count.send(1_000 + index), 1_000 + index);
  hour -= 1;
  const told = left(counts.flatMap(({ sums }) => sums));
  const filed = { notes: counts.flatMap(({ notes }) => notes) };
  for (const found of [homes(told), homes(filed, told)]) {
    const { rows } = quotasIn(found);
    for (const { key, used = 0 } of counts) {
      const own = rows.filter(({ budget, of }) => budget === key.budget && of === key.of);
      let later = hour;
      const next = new QuotaCount(key, () => later * 3_600_000, own);
      next.change(MONTH);
      expect(next.used).toBe(used);
      later = hour + 15 * 24;
      expect(next.used).toBeLessThan(used * 0.55);
      later = hour + 31 * 24;
      expect(next.used).toBe(0);
      later = hour;
      next.change({ ...MONTH, perMs: 400 * 86_400_000 });
      expect(next.used).toBe(40 * 24 * (used / (30 * 24 + 1)));
    }
  }
});

test("an hour that was lost is known again where a sum covers it", () => {
  let hour = HOUR;
  const count = new QuotaCount({ budget: "api", of: "requests" }, () => hour * 3_600_000);
  count.change(MONTH);
  for (; hour < HOUR + 20; hour += 2) count.end(count.send(1), 1);
  const found = homes({ notes: quotaNotes({ rows: [], lostHours: [HOUR + 1] }) }, left(count.sums));
  const rows = quotasIn(found).rows.filter(({ hour: each }) => each === HOUR + 1);
  expect(rows).toMatchObject([{ requests: 0 }]);
});

test("while a count has no room, nothing is said to be noted, and why is told", async () => {
  const long = { json: "x".repeat(40_000) };
  const counts = Array.from({ length: 10 }, (_, index): Note => ({
    kind: "quota",
    key: `u${index}`,
    ...long,
    isCount: true,
  }));
  let notes: readonly Note[] = [...counts, seenNote("email", SEEN)];
  const told: string[] = [];
  const say = (_: object, sentence: string): void => void told.push(sentence);
  const kept: Kept = { written: [], value: undefined };
  let isLeading = true;
  const reign = reignOf(kept, {
    log: { debug: say, info: say, warn: say, error: say },
    right: () => (isLeading ? "send" : "none"),
  });
  const ended = reign.keep();
  await eventually("it is noted that it leads", () => kept.written.length === 1);
  const home = reign.home(() => notes);
  expect(await home.write()).toBe(false);
  expect(await home.write()).toBe(false);
  expect(told).toEqual([expect.stringContaining("what counts against a quota or a spend is not sent")]);
  notes = [...counts.slice(0, 3), ...counts.map(({ key }) => ({ kind: "upstream", key, ...long }))];
  expect(await home.write()).toBe(true);
  expect(told.slice(1)).toEqual([expect.stringContaining("not all that the next leader should know")]);
  isLeading = false;
  expect(await home.write()).toBe(false);
  home.told();
  await ended;
});

/** Writes to it may fail, or succeed without an answer. */
function failingRegister(kept: Kept) {
  let fails: "before" | "after" | undefined;
  const register: ReignParts["notes"] = {
    read: async () => {
      if (fails !== undefined) throw new Error("away");
      return { era: "1", value: kept.value, version: "1", isSure: true };
    },
    write: async (text) => {
      if (fails === "before") throw new Error("away");
      kept.written.push(text);
      kept.value = text;
      if (fails === "after") throw new Error("no answer");
      return { kind: "written", version: "2" };
    },
  };
  return { register, fail: (how: typeof fails) => void (fails = how) };
}

test.each(["before", "after"] as const)(
  "what could not be noted, as the register failed %s writing, is noted as soon as it can be",
  async (how) => {
    const kept: Kept = { written: [], value: undefined };
    const clock = new VirtualClock();
    const { register, fail } = failingRegister(kept);
    let isLeading = true;
    let serial = 0;
    const reign = reignOf(kept, {
      notes: register,
      clock,
      luck: () => ({ part: 0.5, id: `m${++serial}` }),
      right: () => (isLeading ? "send" : "none"),
    });
    const ended = reign.keep();
    await clock.advance(1_000);
    let notes = [pauseNote(1)];
    const home = reign.home(() => notes);
    fail(how);
    const first = home.write();
    notes = [pauseNote(2)];
    const second = home.write();
    await clock.advance(500);
    expect(await Promise.all([first, second])).toEqual([false, false]);
    notes = [pauseNote(3)];
    const third = home.write();
    await clock.advance(3_000);
    expect(await third).toBe(false);
    fail(undefined);
    await clock.advance(4_000);
    expect(JSON.parse(kept.value ?? "").facts.rows).toEqual([["pause", "email", 3]]);
    isLeading = false;
    await clock.advance(20_000);
    await ended;
  },
);

test("what is left to wait is noted every ttl from the start", async () => {
  const kept: Kept = { written: [], value: undefined };
  const clock = new VirtualClock();
  let isLeading = true;
  const reign = reignOf(kept, {
    ttlMs: 2_000,
    terms: () => [{ budget: "api", digest: "x", coldMs: 40_000, wholeMs: 60_000 }],
    clock,
    right: () => (isLeading ? "send" : "none"),
  });
  const ended = reign.keep();
  await clock.advance(100);
  reign.home(() => []);
  const before = kept.written.length;
  await clock.advance(6_500);
  expect(kept.written.length - before).toBe(3);
  isLeading = false;
  await clock.advance(20_000);
  await ended;
});

test("where more budgets came with a new leader, it notes what it found but for what is needed least", async () => {
  const notes = Array.from({ length: 2_000 }, (_, index): Note => ({
    kind: "upstream",
    key: `email-${index}`,
    json: "x".repeat(100),
  }));
  const kept: Kept = { written: [], value: notesText("n", new Map(), { atMs: NOW_MS, notes }) };
  const clock = new VirtualClock();
  let isLeading = true;
  const reign = reignOf(kept, {
    terms: () =>
      Array.from({ length: 1_000 }, (_, index) => ({
        budget: `budget-${index}`,
        digest: "1abc2de",
        coldMs: 61_000,
        wholeMs: 61_061,
      })),
    clock,
    right: () => (isLeading ? "send" : "none"),
    onNoted: () => void (isLeading = false),
  });
  await Promise.all([reign.keep(), clock.advance(20_000)]);
  expect(kept.written).toHaveLength(1);
  expect(kept.written[0]?.length).toBeLessThanOrEqual(256 * 1_024);
  const { facts: noted } = JSON.parse(kept.written[0] ?? "");
  const rows = notes.map(({ kind, key, json }) => [kind, key, json]);
  expect(noted).toEqual({ atMs: NOW_MS, rows: rows.slice(0, noted.rows.length) });
  expect(noted.rows.length).toBeGreaterThan(1_200);
});
