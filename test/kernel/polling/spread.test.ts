import { array, assert, constantFrom, nat, oneof, property, record } from "fast-check";
import { expect, test } from "vitest";

import { type Spreadable, spreadWithinSecond } from "../../../src/kernel/polling/spread.ts";
import { scheduleEvery } from "../../../src/kernel/schedule/schedule.ts";

const EVERY_SECOND = scheduleEvery(1_000, "any");

type Shared = {
  readonly host?: string;
  readonly budget?: string;
  readonly scheme?: "http" | "https";
  readonly connection?: Spreadable["connection"];
};

/** Each of an owner of its own, unless told otherwise. */
function member(name: string, { host = `${name}.test`, budget = name, ...how }: Shared = {}): Spreadable {
  const { scheme = "http", connection = "fresh" } = how;
  const url = `${scheme}://${host}/v1/resources`;
  return { name, schedule: EVERY_SECOND, url, budgets: [budget], connection };
}

function members(count: number, shared?: Shared): Spreadable[] {
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

test.each([
  { most: 8, apartMs: 1, scheme: "http", connection: "fresh" },
  { most: 8, apartMs: 1, scheme: "https", connection: "reuse" },
  // They would wait for each other's handshakes.
  { most: 4, apartMs: 2, scheme: "https", connection: "fresh" },
] as const)(
  "$most begin shortly after each other, then there is a pause: $scheme, $connection",
  ({ most, apartMs, ...how }) => {
    const spread = spreadWithinSecond(members(60, how));
    const sizes = groupSizes(spread);
    expect(Math.max(...sizes)).toBe(most);
    expect(sizes.length).toBeLessThanOrEqual(64 / most);
    const offsetsMs = [...spread.values()];
    expect(offsetsMs).toEqual(offsetsMs.toSorted((a, b) => a - b));
    expect(Math.max(...offsetsMs)).toBeLessThan(1_000);
    const gapsMs = offsetsMs.slice(1).map((offsetMs, index) => offsetMs - (offsetsMs[index] ?? 0));
    expect(Math.min(...gapsMs)).toBe(apartMs);
  },
);

test("where groups are too close for a pause, those of one begin together", () => {
  const offsetsMs = [...spreadWithinSecond(members(1_000)).values()];
  const beginsIn = Map.groupBy(offsetsMs, (offsetMs) => offsetMs);
  expect(beginsIn.size).toBeLessThanOrEqual(128);
  expect(Math.max(...[...beginsIn.values()].map((together) => together.length))).toBeLessThanOrEqual(8);
  const tenthsOfASecond = Map.groupBy(offsetsMs, (offsetMs) => Math.floor(offsetMs / 100));
  for (const tenth of tenthsOfASecond.values()) expect(tenth.length).toBeLessThan(120);
});

test.each([{ host: "one.test" }, { budget: "one" }])("those of %o never begin together", (shared) => {
  const offsetsMs = [...spreadWithinSecond(members(100, shared)).values()];
  const gapsMs = offsetsMs.slice(1).map((offsetMs, index) => offsetMs - (offsetsMs[index] ?? 0));
  expect(Math.min(...gapsMs)).toBeGreaterThanOrEqual(7);
});

test("those of one host or budget are never in one group", () => {
  const some = constantFrom("a", "b", "c");
  const shared = oneof(
    record({ host: some }),
    record({ budget: nat(30).map(String) }),
    some.map((both) => ({ host: both, budget: both })),
  );
  assert(
    property(array<Shared>(shared, { minLength: 1, maxLength: 120 }), (all) => {
      const each = all.map((one, number) => member(`api-${number}`, one));
      const spread = spreadWithinSecond(each);
      expect(spread.size).toBe(each.length);
      for (const keyOf of [({ url }: Spreadable) => url, ({ budgets }: Spreadable) => budgets[0]]) {
        for (const [, of] of Map.groupBy(each, keyOf)) {
          const own = of.map(({ name }) => spread.get(name) ?? 0).toSorted((a, b) => a - b);
          // As far apart as two groups are, less the time in which those of a group begin.
          const leastMs = Math.min(...own.slice(1).map((offsetMs, index) => offsetMs - (own[index] ?? 0)));
          expect(leastMs).toBeGreaterThanOrEqual(7);
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
