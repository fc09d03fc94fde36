import { expect, test } from "vitest";
import { StateBuffer } from "../../../src/features/state/buffer.ts";
import { incidentRow, type KeyedRow, noteRow } from "../../../src/features/state/tables.ts";
import type { SavedPoll } from "../../../src/features/history/state.ts";
import { samplePoll } from "../../support/kernel-samples.ts";
import { pollStatusOf } from "../../../src/features/history/kept-poll.ts";

const BOUNDS = {
  polls: 5,
  incidents: 2,
  value_hours: 3,
  leastNotes: 2,
};

function poll(turn: number): SavedPoll {
  return {
    upstream: "email",
    endedAtMs: turn,
    withinObjective: true,
    watchedMs: 0,
    status: pollStatusOf(samplePoll()),
  };
}

function incident(startedAtMs: number, polls: number): KeyedRow {
  const incident = { upstream: "email", state: "down", reason: "dns", startedAtMs, polls } as const;
  return incidentRow({ ...incident, endedAtMs: undefined }, [], 0);
}

function buffered(count: number): StateBuffer {
  const buffer = new StateBuffer(BOUNDS);
  for (let turn = 1; turn <= count; turn += 1) buffer.addPoll(poll(turn));
  return buffer;
}

const turnsOf = (polls: readonly SavedPoll[]): readonly number[] => polls.map((each) => each.endedAtMs);

test("the oldest are handed out first, so many at a time", () => {
  const buffer = buffered(4);
  expect(turnsOf(buffer.take(3).polls)).toEqual([1, 2, 3]);
  expect(turnsOf(buffer.take(3).polls)).toEqual([4]);
});

test("beyond its bound the oldest is lost, and counted once", () => {
  const buffer = buffered(7);
  expect(buffer.takeLost()).toBe(2);
  expect(buffer.takeLost()).toBe(0);
  expect(turnsOf(buffer.take(9).polls)).toEqual([3, 4, 5, 6, 7]);
});

test("rows that come back stand before those that came since, within the same bound", () => {
  const buffer = buffered(4);
  const rows = buffer.take(9);
  buffer.addPoll(poll(5));
  buffer.addPoll(poll(6));
  buffer.giveBack(rows);
  expect(buffer.takeLost()).toBe(1);
  expect(turnsOf(buffer.take(9).polls)).toEqual([2, 3, 4, 5, 6]);
});

test("polls that nobody knows the fate of are lost; rows that replace themselves are written again", () => {
  const buffer = buffered(4);
  buffer.put(incident(1, 1));
  buffer.giveUp(buffer.take(3));
  expect(buffer.takeLost()).toBe(3);
  expect(buffer.waitingPolls).toBe(1);
  expect(buffer.take(9).rows).toEqual([incident(1, 1)]);
});

test("of an incident only the last word is kept, also over a failed write", () => {
  const buffer = new StateBuffer(BOUNDS);
  buffer.put(incident(1, 1));
  buffer.put(incident(1, 2));
  const rows = buffer.take(9);
  expect(rows.rows).toEqual([incident(1, 2)]);
  buffer.put(incident(1, 3));
  buffer.giveBack(rows);
  expect(buffer.take(9).rows).toEqual([incident(1, 3)]);
});

test("incidents are bounded too: the one that was heard of longest ago gives way", () => {
  const buffer = new StateBuffer(BOUNDS);
  buffer.put(incident(1, 1));
  buffer.put(incident(2, 1));
  buffer.put(incident(1, 2));
  buffer.put(incident(3, 1));
  expect(buffer.take(9).rows).toEqual([incident(1, 2), incident(3, 1)]);
});

test("of notes only those that are needed least are bounded, and one that becomes such is written once", () => {
  const buffer = new StateBuffer(BOUNDS);
  const note = (key: string, json: number, isLeast?: true): KeyedRow =>
    noteRow({ kind: "told", key, json, ...(isLeast && { isLeast }) });
  for (const key of ["a", "b", "c"]) buffer.put(note(key, 1));
  buffer.put(note("a", 2, true));
  buffer.put(note("d", 2, true));
  buffer.put(note("e", 2, true));
  expect(buffer.take(9).rows).toEqual([note("b", 1), note("c", 1), note("d", 2, true), note("e", 2, true)]);
});
