import * as fc from "fast-check";
import { nodeCron } from "node-cron";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Cron } from "../../../src/kernel/schedule/cron.ts";
import { parseCron } from "../../../src/kernel/schedule/parse-cron.ts";
import { worlds } from "../../support/many.ts";

function cron(text: string): Cron {
  const reading = parseCron(text);
  if (reading.kind === "refused") throw new Error(reading.message);
  return reading.cron;
}

function refusal(text: string): string {
  const reading = parseCron(text);
  return reading.kind === "refused" ? reading.message : "accepted";
}

const at = (iso: string): number => Date.parse(iso);
const next = (text: string, iso: string): string => new Date(cron(text).next(at(iso))).toISOString();

describe("the next slot", () => {
  test.each([
    ["*/15 * * * * *", "2026-11-21T08:00:00.000Z", "2026-11-21T08:00:15.000Z"],
    ["*/15 * * * * *", "2026-11-21T08:00:14.999Z", "2026-11-21T08:00:15.000Z"],
    ["0 9 * * 1", "2026-11-21T08:00:00.000Z", "2026-11-23T09:00:00.000Z"],
    ["0 0 29 2 *", "2026-01-01T00:00:00.000Z", "2028-02-29T00:00:00.000Z"],
    ["0 0 29 2 *", "2096-03-01T00:00:00.000Z", "2104-02-29T00:00:00.000Z"],
    ["59 59 23 31 12 *", "2026-12-31T23:59:59.000Z", "2027-12-31T23:59:59.000Z"],
    ["0 0 * * 7", "2026-11-21T00:00:00.000Z", "2026-11-22T00:00:00.000Z"],
    ["0 0 1 1 *", "1969-12-31T23:59:59.500Z", "1970-01-01T00:00:00.000Z"],
  ])("of %s after %s is %s", (text, from, expected) => {
    expect(next(text, from)).toBe(expected);
  });

  test("where both day fields say something, only days that match both have slots", () => {
    expect(next("0 0 13 * 5", "2026-11-21T00:00:00Z")).toBe("2027-08-13T00:00:00.000Z");
    expect(cron("0 0 13 * 5").restrictsBothDayFields).toBe(true);
    expect(cron("0 0 13 * *").restrictsBothDayFields).toBe(false);
  });

  test("a moment that is no number has no slot after it", () => {
    expect(cron("* * * * * *").next(NaN)).toBe(Infinity);
    expect(cron("* * * * * *").next(Infinity)).toBe(Infinity);
  });

  test.each(["*/10 * * * * *", "* * * * * *", "0,7,9 * 3 * * *", "0 0 0 29 2 *", "0 30 6 * * 1"])(
    "of %s is the same whatever was asked before, forth and back",
    (text) => {
      const asked = cron(text);
      let wallMs = Date.UTC(2026, 10, 21, 2, 59, 50);
      for (let step = 0; step < worlds(40); step += 1) {
        wallMs += (((step * 7_919) % 3_001) - 900) * (step % 3 === 0 ? 86_400_000 : 1);
        expect(asked.next(wallMs), `after ${wallMs}`).toBe(cron(text).next(wallMs));
      }
    },
  );
});

describe("what is not a schedule is refused with the field", () => {
  test.each([
    ["* * * *", "it must have 5 or 6 fields, not 4"],
    [
      "daily",
      "it must have 5 or 6 fields, or be one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly",
    ],
    ["60 * * * * *", 'its second field "60" must be within 0 to 59'],
    ["* * 0 * *", 'its day-of-month field "0" must be within 1 to 31'],
    [
      "* * * june *",
      'its month field "june" must be numbers from 1 to 12, JAN to DEC, lists, ranges, steps or *',
    ],
    [
      "* * * * JAN",
      'its day-of-week field "JAN" must be numbers from 0 to 7, SUN to SAT, lists, ranges, steps or *',
    ],
    ["* mon * * *", 'its hour field "mon" must be numbers from 0 to 23, lists, ranges, steps or *'],
    ["* * * * FRI-MON", 'its day-of-week field "FRI-MON" must be ranges that run upwards'],
    ["CRON_TZ=Europe/Berlin 0 9 * * *", "it must have no time zone in it: set time_zone beside it"],
    ["TZ=UTC 0 9 * * *", "it must have no time zone in it: set time_zone beside it"],
    ["* * L * *", 'its day-of-month field "L" must be numbers from 1 to 31, lists, ranges, steps or *'],
    ["5/15 * * * * *", 'its second field "5/15" must be steps of a range, such as 5-59/15'],
    ["*/0 * * * *", 'its minute field "*/0" must be steps from 1 to 60'],
    ["*/90 * * * *", 'its minute field "*/90" must be steps from 1 to 60'],
    ["* 22-2 * * *", 'its hour field "22-2" must be ranges that run upwards'],
    ["1,,2 * * * *", 'its minute field "1,,2" must be numbers from 0 to 59, lists, ranges, steps or *'],
    ["0 0 30 2 *", "no date ever matches its day-of-month and month"],
    ["0 0 31 4,6,9,11 *", "no date ever matches its day-of-month and month"],
    [
      "@reboot",
      "it must have 5 or 6 fields, or be one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly",
    ],
  ])("%s", (text, message) => {
    expect(refusal(text)).toBe(message);
  });
});

test.each([
  ["0 9 * * MON-FRI", "0 9 * * 1-5"],
  ["0 9 * * fri-sun", "0 9 * * 5-7"],
  ["0 9 * * SUN-TUE,thu", "0 9 * * 0-2,4"],
  ["0 0 1 JAN,JUL-SEP *", "0 0 1 1,7-9 *"],
  ["0 0 1 jan-dec/3 *", "0 0 1 1-12/3 *"],
  ["@hourly", "0 * * * *"],
  ["@Daily", "0 0 * * *"],
  ["@weekly", "0 0 * * 0"],
  ["@monthly", "0 0 1 * *"],
  ["@yearly", "0 0 1 1 *"],
])("%s means %s", (names, numbers) => {
  const [named, numbered] = [cron(names), cron(numbers)];
  for (let atMs = Date.UTC(2026, 0, 1), left = 200; left > 0; left -= 1) {
    const nextMs = named.next(atMs);
    expect(nextMs).toBe(numbered.next(atMs));
    atMs = nextMs;
  }
});

describe("the gaps are exact for all time", () => {
  const dayMs = 86_400_000;
  test.each([
    ["* * * * * *", 1000, 1000],
    ["*/45 * * * * *", 45_000, 15_000],
    ["0 9-17 * * *", 16 * 3_600_000, 3_600_000],
    ["*/10 9-17 * * 1-5", 3 * dayMs - 8 * 3_600_000 - 50 * 60_000, 600_000],
    ["0 0 1 * *", 31 * dayMs, 28 * dayMs],
    // 2096 to 2104, and 4 years otherwise.
    ["0 0 29 2 *", 2921 * dayMs, 1461 * dayMs],
    ["0 0 * * 1", 7 * dayMs, 7 * dayMs],
  ])("of %s", (text, longestMs, shortestMs) => {
    const { longestGapMs, shortestGapMs } = cron(text);
    expect({ longestGapMs, shortestGapMs }).toEqual({ longestGapMs: longestMs, shortestGapMs: shortestMs });
  });
});

test.each([
  ["*/15 * * * * *", 15_000],
  ["0 9 * * 1-5", 86_400_000],
  ["0 0 * * 1", 7 * 86_400_000],
  ["*/5 9-16 * * 1-5", 300_000],
  ["*/5 22-23,0-5 * * *", 300_000],
  ["*/7 * * * *", 400_654],
  ["0 9-17 * * *", 3_600_000],
  ["0,1 * * * *", 1_724_348],
  ["0 9,17 * * *", 28_800_000],
])("the usual gap of %s is the mean one of a day, without a night or a weekend", (text, usualGapMs) => {
  expect(cron(text).usualGapMs).toBe(usualGapMs);
});

const field = (min: number, max: number): fc.Arbitrary<string> => {
  const number = fc.integer({ min, max });
  const range = fc.tuple(number, number).map((pair) => pair.sort((a, b) => a - b).join("-"));
  const term = fc.oneof(
    number.map(String),
    range,
    fc.tuple(range, fc.integer({ min: 1, max: 7 })).map((pair) => pair.join("/")),
    fc.integer({ min: 1, max: 5 }).map((step) => `*/${step}`),
  );
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant("*") },
    fc.array(term, { minLength: 1, maxLength: 3 }).map((terms) => terms.join(",")),
  );
};
const expression = fc
  .tuple(field(0, 59), field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 7))
  .map((fields) => fields.join(" "));
const moment = fc.integer({ min: 0, max: at("2120-01-01T00:00:00Z") });

describe("any expression", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test("has the slots that node-cron gives it, and is refused where no date matches", () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    fc.assert(
      fc.property(expression, moment, (text, fromMs) => {
        const reading = parseCron(text);
        expect(reading.kind === "cron").toBe(nodeCron.validate(text));
        if (reading.kind === "refused") return;
        vi.setSystemTime(fromMs);
        const task = nodeCron.createTask(text, () => {}, { timezone: "UTC" });
        const theirs = task.getNextRuns(3).map((date) => date.getTime());
        void task.destroy();
        expect(slotsFrom(reading.cron, fromMs, 3)).toEqual(theirs);
      }),
      { seed: 20261121, numRuns: worlds(50) },
    );
  });

  test("counts as many slots between two moments as there are", () => {
    fc.assert(
      fc.property(
        expression,
        moment,
        fc.integer({ min: 0, max: 40 }),
        fc.nat(999),
        (text, fromMs, count, offMs) => {
          const reading = parseCron(text);
          if (reading.kind === "refused") return;
          const slots = slotsFrom(reading.cron, fromMs, count);
          const lastMs = slots.at(-1) ?? fromMs;
          // Slots are whole seconds apart, so none follows within the rest of one.
          const restMs = Math.min(offMs, 999 - (lastMs % 1000));
          expect(reading.cron.countBetween(fromMs, lastMs)).toBe(slots.length);
          expect(reading.cron.countBetween(fromMs, lastMs + restMs)).toBe(slots.length);
          expect(reading.cron.countBetween(fromMs, lastMs - 1)).toBe(Math.max(0, slots.length - 1));
        },
      ),
      { seed: 20261121, numRuns: worlds(60) },
    );
  });

  test("never has more slots in any window than it says, and somewhere has as many", () => {
    // Hours and days are left open, so that a few days hold every kind of window.
    const dense = fc
      .tuple(field(0, 59), field(0, 59), field(0, 23))
      .map((fields) => `${fields.join(" ")} * * *`);
    const windowMs = fc.integer({ min: 1, max: 3_600_000 });
    fc.assert(
      fc.property(dense, windowMs, (text, windowMs) => {
        const reading = parseCron(text);
        if (reading.kind === "refused") return;
        const slots = slotsWithin(reading.cron, at("2026-11-21T00:00:00Z"), at("2026-11-23T02:00:00Z"));
        expect(reading.cron.mostWithin(windowMs)).toBe(mostInWindow(slots, windowMs));
      }),
      { seed: 20261121, numRuns: worlds(10) },
    );
  });
});

describe("the most slots in a window", () => {
  test("reach over midnight where both days have slots", () => {
    expect(cron("0 0,1,58,59 0,23 * * *").mostWithin(240_000)).toBe(4);
    // Sunday has none, so nothing follows Saturday's last and nothing comes before Monday's first.
    expect(cron("0 0,1,58,59 0,23 * * 6").mostWithin(240_000)).toBe(2);
  });

  test("a window is half-open: a slot at its very end is not in it", () => {
    expect(cron("*/15 * * * * *").mostWithin(60_000)).toBe(4);
    expect(cron("*/15 * * * * *").mostWithin(60_001)).toBe(5);
    expect(cron("*/15 * * * * *").mostWithin(15_000)).toBe(1);
  });

  test("over many days count the busiest of them", () => {
    expect(cron("0 0 * * 1-5").mostWithin(7 * 86_400_000)).toBe(5);
    expect(cron("0 0 1 * *").mostWithin(30 * 86_400_000)).toBe(2);
    expect(cron("0 0 1 * *").mostWithin(28 * 86_400_000)).toBe(1);
    expect(cron("0 * * * *").mostWithin(30 * 86_400_000)).toBe(720);
  });
});

function slotsFrom(expression: Cron, fromMs: number, count: number): readonly number[] {
  const slots: number[] = [];
  for (
    let slot = expression.next(fromMs);
    slot !== undefined && slots.length < count;
    slot = expression.next(slot)
  ) {
    slots.push(slot);
  }
  return slots;
}

function slotsWithin(expression: Cron, fromMs: number, toMs: number): readonly number[] {
  const slots: number[] = [];
  for (
    let slot = expression.next(fromMs - 1);
    slot !== undefined && slot < toMs;
    slot = expression.next(slot)
  ) {
    slots.push(slot);
  }
  return slots;
}

function mostInWindow(slots: readonly number[], windowMs: number): number {
  let [most, first] = [0, 0];
  for (const [last, slot] of slots.entries()) {
    while (slot - (slots[first] ?? slot) >= windowMs) first += 1;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
