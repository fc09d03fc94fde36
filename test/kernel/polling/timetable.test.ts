import { expect, test } from "vitest";

import { scheduleCron, type Schedule } from "../../../src/kernel/schedule/schedule.ts";
import { type Spreadable, spreadWithinSecond } from "../../../src/kernel/polling/spread.ts";
import { Timetable } from "../../../src/kernel/polling/timetable.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";
import { virtualTriggers } from "../../support/virtual/triggers.ts";

const NOON_MS = Date.UTC(2026, 2, 29, 0, 30);

function cron(text: string): Schedule {
  const reading = scheduleCron(text);
  if (reading.kind === "refused") throw new Error(reading.message);
  return reading.schedule;
}

/** All of one host. */
function entry(name: string, schedule: Schedule): Spreadable {
  return { name, schedule, url: "https://api.test/v1/resources", budgets: [name], connection: "fresh" };
}

function world(
  names: readonly string[],
  schedule: Schedule,
): { clock: VirtualClock; timetable: Timetable; slots: [string, number][]; missed: [string, number][] } {
  const clock = new VirtualClock({ nowMs: 0, wallMs: NOON_MS });
  const slots: [string, number][] = [];
  const missed: [string, number][] = [];
  const timetable = new Timetable(clock, virtualTriggers(clock), {
    onSlot: (name, atMs) => void slots.push([name, atMs]),
    onMissed: (name, count) => void missed.push([name, count]),
    onBug: (error) => {
      throw error;
    },
  });
  timetable.set(names.map((name) => entry(name, schedule)));
  return { clock, timetable, slots, missed };
}

const EVERY_15S = cron("7-59/15 * * * * *");

test("a slot that ends in a bug is told, and costs no other upstream of its second a slot", async () => {
  const clock = new VirtualClock({ nowMs: 0, wallMs: NOON_MS });
  const slots: string[] = [];
  const bugs: unknown[] = [];
  const timetable = new Timetable(clock, virtualTriggers(clock), {
    onSlot: (name) => {
      slots.push(name);
      throw new Error(name);
    },
    onMissed: () => {},
    onBug: (error) => void bugs.push(error),
  });
  timetable.set(["email", "ai"].map((name) => entry(name, EVERY_15S)));
  await clock.advance(10_000);
  expect(slots.toSorted()).toEqual(["ai", "email"]);
  expect(bugs).toEqual(slots.map((name) => new Error(name)));
});

test("slots come at the schedule's own seconds", async () => {
  const { clock, slots, missed } = world(["email"], EVERY_15S);
  await clock.advance(60_000);
  expect(slots).toEqual([
    ["email", 7_000],
    ["email", 22_000],
    ["email", 37_000],
    ["email", 52_000],
  ]);
  expect(missed).toEqual([]);
});

test("upstreams of one second and one host are spread over it", async () => {
  const names = Array.from({ length: 200 }, (_, index) => `api-${index}`);
  const { clock, slots } = world(names, EVERY_15S);
  await clock.advance(10_000);
  expect(slots.length).toBe(200);
  const gaps = slots.slice(1).map(([, atMs], index) => atMs - (slots[index]?.[1] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(3);
  expect(Math.max(...gaps)).toBeLessThan(40);
});

test("a wall clock that is set back an hour does not stop the slots", async () => {
  const { clock, slots, missed } = world(["email"], EVERY_15S);
  await clock.advance(30_000);
  clock.stepWall(-3_600_000);
  await clock.advance(60_000);
  expect(slots.length).toBe(6);
  expect(missed).toEqual([]);
});

test("a wall clock that is set a day ahead bunches nothing, and nothing counts as missed", async () => {
  const { clock, slots, missed } = world(["email"], EVERY_15S);
  await clock.advance(30_000);
  clock.stepWall(86_400_000);
  await clock.advance(60_000);
  expect(slots.length).toBe(6);
  expect(missed).toEqual([]);
});

test("a step that moves the phase makes one short or long gap, never two polls in a row", async () => {
  const { clock, slots } = world(["email"], EVERY_15S);
  await clock.advance(30_000);
  clock.stepWall(-7_000);
  await clock.advance(60_000);
  const gaps = slots.slice(1).map(([, atMs], index) => atMs - (slots[index]?.[1] ?? 0));
  expect(gaps.filter((gap) => gap !== 15_000).length).toBeLessThanOrEqual(1);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(7_000);
});

test("slots that passed while the process stood still are counted as missed, and not made up for", async () => {
  const { clock, slots, missed } = world(["email"], EVERY_15S);
  await clock.advance(25_000);
  clock.stall(60_000);
  await clock.advance(30_000);
  expect(slots.map(([, atMs]) => atMs)).toEqual([7_000, 22_000, 97_000, 112_000]);
  expect(missed).toEqual([["email", 4]]);
});

test("who joins a group later has missed nothing from before", async () => {
  const { clock, timetable, slots, missed } = world(["email"], EVERY_15S);
  await clock.advance(25_000);
  clock.stall(60_000);
  timetable.set(["email", "late"].map((name) => entry(name, EVERY_15S)));
  await clock.advance(14_000);
  expect(slots.filter(([name]) => name === "late").length).toBe(1);
  expect(missed).toEqual([["email", 4]]);
});

test("who leaves gets no further slot; the others keep theirs", async () => {
  const { clock, timetable, slots } = world(["email", "ai-router"], EVERY_15S);
  await clock.advance(10_000);
  timetable.set([entry("email", EVERY_15S)]);
  await clock.advance(15_000);
  expect(slots.map(([name]) => name).toSorted()).toEqual(["ai-router", "email", "email"]);
});

test("the next slot is told with its place in the second", async () => {
  const { clock, timetable } = world(["email", "ai-router"], EVERY_15S);
  await clock.advance(1_000);
  const spread = spreadWithinSecond(["email", "ai-router"].map((name) => entry(name, EVERY_15S)));
  const nexts = ["email", "ai-router"].map((name) => timetable.nextSlotAtMs(name, EVERY_15S));
  expect(nexts.toSorted((a, b) => (a ?? 0) - (b ?? 0))).toEqual(
    [...spread.values()].map((offsetMs) => NOON_MS + 7_000 + offsetMs),
  );
  expect(new Set(spread.values()).size).toBe(2);
  expect(timetable.nextSlotAtMs("nobody", EVERY_15S)).toBeUndefined();
});

test("after its end nothing fires any more", async () => {
  const { clock, timetable, slots } = world(["email"], EVERY_15S);
  await clock.advance(10_000);
  timetable.stop();
  await clock.advance(60_000);
  expect(slots.length).toBe(1);
});
