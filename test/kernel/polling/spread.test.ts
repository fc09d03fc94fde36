import { array, assert, constantFrom, nat, property, record } from "fast-check";
import { expect, test } from "vitest";

import { type Spreadable, spreadWithinSecond } from "../../../src/kernel/polling/spread.ts";
import { scheduleEvery } from "../../../src/kernel/schedule/schedule.ts";

const EVERY_SECOND = scheduleEvery(1_000, "any");

/** Each of an owner of its own, unless told otherwise. */
function member(name: string, { host = `${name}.test`, budget = name } = {}): Spreadable {
  return { name, schedule: EVERY_SECOND, url: `https://${host}/v1/resources`, budgets: [budget] };
}

function members(count: number, shared?: { host?: string; budget?: string }): Spreadable[] {
  return Array.from({ length: count }, (_, number) => member(`api-${number}`, shared));
}

/** As many as begin less than 10 ms after the one before. */
function groupSizes(spread: ReadonlyMap<string, number>): number[] {
  const sizes: number[] = [];
  let beforeMs = Number.NEGATIVE_INFINITY;
  for (const offsetMs of spread.values()) {
    if (offsetMs - beforeMs < 10) sizes.push((sizes.pop() ?? 0) + 1);
    else sizes.push(1);
    beforeMs = offsetMs;
  }
  return sizes;
}

test("one alone begins at the second itself", () => {
  expect(spreadWithinSecond([member("only")])).toEqual(new Map([["only", 0]]));
  expect(spreadWithinSecond([])).toEqual(new Map());
});

test("a few begin shortly after each other, then there is a pause", () => {
  const spread = spreadWithinSecond(members(60));
  const sizes = groupSizes(spread);
  expect(Math.max(...sizes)).toBe(4);
  expect(sizes.length).toBeLessThanOrEqual(16);
  const offsetsMs = [...spread.values()];
  expect(offsetsMs).toEqual(offsetsMs.toSorted((a, b) => a - b));
  expect(Math.max(...offsetsMs)).toBeLessThan(1_000);
});

test("where groups are too close for a pause, those of one begin together", () => {
  const offsetsMs = [...spreadWithinSecond(members(1_000)).values()];
  const beginsIn = Map.groupBy(offsetsMs, (offsetMs) => offsetMs);
  expect(beginsIn.size).toBeLessThanOrEqual(256);
  expect(Math.max(...[...beginsIn.values()].map((together) => together.length))).toBeLessThanOrEqual(4);
  const tenthsOfASecond = Map.groupBy(offsetsMs, (offsetMs) => Math.floor(offsetMs / 100));
  for (const tenth of tenthsOfASecond.values()) expect(tenth.length).toBeLessThan(120);
});

test.each([{ host: "one.test" }, { budget: "one" }])("those of %o never begin together", (shared) => {
  const offsetsMs = [...spreadWithinSecond(members(100, shared)).values()];
  const gapsMs = offsetsMs.slice(1).map((offsetMs, index) => offsetMs - (offsetsMs[index] ?? 0));
  expect(Math.min(...gapsMs)).toBeGreaterThanOrEqual(7);
});

test("however they share hosts and budgets, no group has two of one", () => {
  const shared = record({
    host: constantFrom("a.test", "b.test", "c.test"),
    budget: nat(30).map(String),
  });
  assert(
    property(array(shared, { minLength: 1, maxLength: 120 }), (all) => {
      const each = all.map((one, number) => member(`api-${number}`, one));
      const spread = spreadWithinSecond(each);
      expect(spread.size).toBe(each.length);
      for (const key of ["host", "budget"] as const) {
        const offsetsMs = Map.groupBy(each.entries(), ([number]) => all[number]?.[key]);
        for (const [, of] of offsetsMs) {
          const own = of.map(([, { name }]) => spread.get(name) ?? 0).toSorted((a, b) => a - b);
          // As far apart as two groups are, less the time in which those of a group begin.
          const leastMs = Math.min(...own.slice(1).map((offsetMs, index) => offsetMs - (own[index] ?? 0)));
          expect(leastMs).toBeGreaterThanOrEqual(1);
        }
      }
    }),
    { seed: 51, numRuns: 200 },
  );
});

test("one more at the end of the config moves no other, unless the number of groups doubles", () => {
  const all = members(64);
  for (const count of [33, 40, 50, 63]) {
    const [before, after] = [count, count + 1].map((many) => spreadWithinSecond(all.slice(0, many)));
    for (const [name, offsetMs] of before ?? []) expect(after?.get(name)).toBe(offsetMs);
  }
});

test("more than a second has milliseconds are all in it", () => {
  const spread = spreadWithinSecond(members(1_500, { host: "one.test" }));
  expect(spread.size).toBe(1_500);
  expect(Math.max(...spread.values())).toBeLessThan(1_000);
});

test("groups of two schedules do not begin together", () => {
  const other = scheduleEvery(2_000, "any");
  const [one = [], two = []] = [EVERY_SECOND, other].map((schedule) => [
    ...spreadWithinSecond(members(40).map((each) => ({ ...each, schedule }))).values(),
  ]);
  expect(two.filter((offsetMs) => one.includes(offsetMs)).length).toBeLessThan(4);
});
