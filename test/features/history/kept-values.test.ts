import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Burn, type BurnWindow, worstBurn } from "../../../src/features/history/credit.ts";
import type { SavedValue } from "../../../src/features/history/tracks.ts";
import { KeptValues } from "../../support/kept-values.ts";
import { worstForecasts } from "./mixtures.ts";
import { samplePoll } from "../../support/kernel-samples.ts";
import { sampleValue } from "../../support/samples.ts";
import { worlds } from "../../support/many.ts";

const SEED = 20_261_122;
const START_MS = 1_790_000_000_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const CREDITS = [sampleValue()];

function see(kept: KeptValues, atMs: number, value: number, name = "credits"): void {
  const values = [{ name, value, isCredit: true }];
  kept.polled(samplePoll({ endedAtMs: atMs, said: { values: { values, unreadable: [] } } }));
}

/** A poll a minute from the start until the end of the story. */
function lived(
  forMs: number,
  valueAt: (afterMs: number) => number,
  kept = new KeptValues(),
  everyMs = MINUTE_MS,
): KeptValues {
  for (let afterMs = 0; afterMs <= forMs; afterMs += everyMs) see(kept, START_MS + afterMs, valueAt(afterMs));
  return kept;
}

function burnsOf(kept: KeptValues, atMs: number): readonly Burn[] {
  return kept.read(CREDITS, MINUTE_MS, atMs)[0]?.burns ?? [];
}

function burn(kept: KeptValues, window: BurnWindow, afterMs: number): Burn | undefined {
  return burnsOf(kept, START_MS + afterMs).find((each) => each.window === window);
}

function hoursLeft(kept: KeptValues, afterMs: number): number {
  return (
    ((worstBurn(burnsOf(kept, START_MS + afterMs))?.emptyAtMs ?? Infinity) - START_MS - afterMs) / HOUR_MS
  );
}

describe("what is known", () => {
  test("is the value as it came last, and when", () => {
    const kept = lived(10 * MINUTE_MS, (afterMs) => 100 - afterMs / MINUTE_MS);
    expect(kept.read(CREDITS, MINUTE_MS, START_MS + 10 * MINUTE_MS)).toMatchObject([
      { value: 90, seenAtMs: START_MS + 10 * MINUTE_MS },
    ]);
  });

  test("ends after three periods, or ten minutes where they are shorter", () => {
    const kept = lived(0, () => 5);
    const at = (periodMs: number, afterMs: number) => kept.read(CREDITS, periodMs, START_MS + afterMs)[0];
    expect(at(15_000, 10 * MINUTE_MS)?.value).toBe(5);
    expect(at(15_000, 10 * MINUTE_MS + 1)).toEqual({
      value: undefined,
      seenAtMs: undefined,
      isReadable: undefined,
      found: undefined,
      burns: [],
    });
    expect(at(HOUR_MS, 3 * HOUR_MS)?.value).toBe(5);
    expect(at(HOUR_MS, 3 * HOUR_MS + 1)?.value).toBeUndefined();
  });

  test("is not readable once the answers have something else there for as long, and the end of a credit stays", () => {
    const kept = lived(HOUR_MS, () => -5);
    const at = (afterMs: number) => {
      const endedAtMs = START_MS + HOUR_MS + afterMs;
      const unreadable = [{ name: "credits", found: "null" }];
      kept.polled(samplePoll({ endedAtMs, said: { values: { values: [], unreadable } } }));
      return kept.read(CREDITS, MINUTE_MS, endedAtMs)[0];
    };
    expect(at(MINUTE_MS)).toMatchObject({ value: -5, isReadable: true });
    const unread = at(11 * MINUTE_MS);
    expect(unread).toMatchObject({ value: undefined, isReadable: false, found: "null" });
    expect(unread?.burns.map(({ emptyAtMs }) => emptyAtMs)).toEqual(Array(3).fill(START_MS + HOUR_MS));
    expect(at(DAY_MS)?.burns).toHaveLength(3);
    see(kept, START_MS + 2 * DAY_MS, 500);
    see(kept, START_MS + 2 * DAY_MS + 1, 500);
    see(kept, START_MS + 2 * DAY_MS + 2, 500);
    const back = kept.read(CREDITS, MINUTE_MS, START_MS + 2 * DAY_MS + 2)[0];
    expect(back).toMatchObject({ value: 500, isReadable: true });
    expect(back?.burns[0]?.emptyAtMs).toBeUndefined();
  });

  test("that was never there is not readable from the first answer on", () => {
    const kept = new KeptValues();
    const unreadable = [{ name: "credits", found: undefined }];
    kept.polled(samplePoll({ endedAtMs: START_MS, said: { values: { values: [], unreadable } } }));
    expect(kept.read(CREDITS, MINUTE_MS, START_MS)[0]).toMatchObject({ isReadable: false, found: undefined });
  });

  test("is not what was seen in a future that the clock was set back from", () => {
    const kept = lived(0, () => 5);
    expect(kept.read(CREDITS, MINUTE_MS, START_MS - DAY_MS)[0]?.value).toBeUndefined();
  });

  test("stays in the order of the config, also where one was never seen", () => {
    const kept = new KeptValues();
    see(kept, START_MS, 1, "b");
    const wanted = ["a", "b"].map((name) => sampleValue({ name, credit: false }));
    expect(kept.read(wanted, MINUTE_MS, START_MS).map(({ value }) => value)).toEqual([undefined, 1]);
  });

  test("has no forecast where it is no credit", () => {
    const kept = lived(2 * HOUR_MS, (afterMs) => 100 - afterMs / HOUR_MS);
    expect(kept.read([sampleValue({ credit: false })], MINUTE_MS, START_MS + 2 * HOUR_MS)[0]?.burns).toEqual(
      [],
    );
  });
});

describe("a credit that falls", () => {
  test("is forecast over each window of which half is known", () => {
    const steadily = (afterMs: number): number => 1_000 - 2 * (afterMs / HOUR_MS);
    const known = (afterMs: number): readonly BurnWindow[] =>
      burnsOf(lived(afterMs, steadily), START_MS + afterMs)
        .filter(({ perSecond }) => perSecond !== undefined)
        .map(({ window }) => window);
    expect(known(20 * MINUTE_MS)).toEqual([]);
    expect(known(40 * MINUTE_MS)).toEqual(["1h"]);
    expect(known(13 * HOUR_MS)).toEqual(["1h", "1d"]);
    expect(known(4 * DAY_MS)).toEqual(["1h", "1d", "7d"]);
  });

  test("is empty when the worst of the windows says so", () => {
    // One an hour for six days, then ten an hour for two.
    const faster = 6 * DAY_MS;
    const at = (afterMs: number): number =>
      1_000 - Math.min(afterMs, faster) / HOUR_MS - (10 * Math.max(0, afterMs - faster)) / HOUR_MS;
    const endMs = faster + 2 * HOUR_MS;
    const kept = lived(endMs, at);
    expect(burn(kept, "1h", endMs)?.perSecond).toBeCloseTo(10 / 3_600, 6);
    expect(burn(kept, "1d", endMs)?.perSecond).toBeCloseTo((22 + 20) / 24 / 3_600, 4);
    expect(burn(kept, "7d", endMs)?.perSecond).toBeLessThan(1.2 / 3_600);
    expect(hoursLeft(kept, endMs)).toBeCloseTo(at(endMs) / 10, 0);
  });

  test("that nobody uses is never empty, and its pace is 0", () => {
    const kept = lived(DAY_MS, () => 50);
    expect(burn(kept, "1d", DAY_MS)).toEqual({ window: "1d", perSecond: 0, emptyAtMs: undefined });
    expect(hoursLeft(kept, DAY_MS)).toBe(Infinity);
  });

  test("is empty now where nothing is left, however little is known", () => {
    const kept = lived(0, () => 0);
    expect(burnsOf(kept, START_MS)).toEqual(
      ["1h", "1d", "7d"].map((window) => ({ window, perSecond: undefined, emptyAtMs: START_MS })),
    );
    expect(
      hoursLeft(
        lived(0, () => -12.5),
        0,
      ),
    ).toBe(0);
  });

  test("that lasts for more than a year has no end in sight", () => {
    const kept = lived(DAY_MS, (afterMs) => 1e12 - afterMs / DAY_MS);
    expect(burn(kept, "1d", DAY_MS)).toMatchObject({ emptyAtMs: undefined });
  });

  test("polled only four times a day has the pace of the day and of the week", () => {
    const kept = lived(4 * DAY_MS, (afterMs) => 100 - 10 * (afterMs / DAY_MS), new KeptValues(), 6 * HOUR_MS);
    const burns = kept.read(CREDITS, 6 * HOUR_MS, START_MS + 4 * DAY_MS)[0]?.burns;
    expect(burns?.map(({ perSecond }) => perSecond === undefined)).toEqual([true, false, false]);
  });
});

test("a credit polled as often as a window is long has the pace of that window each time", () => {
  const [everyMs, lateMs] = [HOUR_MS, 20_000];
  const kept = new KeptValues();
  for (let hour = 0; hour <= 30; hour += 1) {
    const afterMs = hour * everyMs + (hour % 3) * lateMs;
    see(kept, START_MS + afterMs, 100 - 2 * hour);
    if (hour < 4) continue;
    const burns = kept.read(CREDITS, everyMs, START_MS + afterMs)[0]?.burns;
    expect(burns?.[0]?.perSecond).toBeCloseTo(2 / 3_600, 4);
  }
});

describe("noise", () => {
  test("one answer that says 0, or a thousand times as much, changes nothing", () => {
    for (const wrong of [0, 1e6]) {
      const at = (afterMs: number): number => (afterMs === 90 * MINUTE_MS ? wrong : 100 - afterMs / HOUR_MS);
      for (const afterMs of [90, 91, 92, 95, 150].map((minutes) => minutes * MINUTE_MS)) {
        expect(hoursLeft(lived(afterMs, at), afterMs)).toBeGreaterThan(90);
      }
    }
  });

  test("a value that wavers around what it was burns nothing to speak of", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 100, maxLength: 300 }),
        (waves) => {
          const forMs = (waves.length - 1) * MINUTE_MS;
          const kept = lived(forMs, (afterMs) => 100 + 2 * (waves[afterMs / MINUTE_MS] ?? 0));
          // From one end of the noise to the other in half a window, at worst.
          expect(burn(kept, "1h", forMs)?.perSecond).toBeLessThanOrEqual(4 / 1_800 + 1e-9);
        },
      ),
      { numRuns: worlds(15), seed: SEED },
    );
  });
});

describe("a value that comes back to where it was a moment ago", () => {
  /** As `lived`, but a poll each fifteen seconds. */
  const watched = (forMs: number, valueAt: (afterMs: number) => number): KeptValues =>
    lived(forMs, valueAt, new KeptValues(), 15_000);
  const FLAP_MS = 60 * MINUTE_MS;

  test.each([0, 1_000])("and said %d meanwhile, was neither spent nor refilled", (wrong) => {
    for (const everyMs of [30_000, 5 * MINUTE_MS, 20 * MINUTE_MS]) {
      const at = (afterMs: number): number =>
        afterMs >= FLAP_MS && afterMs < FLAP_MS + 2 * everyMs ? wrong : 100;
      for (const polls of [5, 40, 100]) {
        const afterMs = FLAP_MS + polls * everyMs;
        expect(hoursLeft(lived(afterMs, at, new KeptValues(), everyMs), afterMs)).toBe(Infinity);
      }
    }
  });

  test("as two servers tell different ones, is spent once", () => {
    const at = (afterMs: number): number =>
      afterMs < FLAP_MS ? 100 : afterMs < FLAP_MS + 10 * MINUTE_MS && afterMs % 30_000 === 0 ? 100 : 80;
    for (const minutes of [5, 15, 30, 50]) {
      const afterMs = FLAP_MS + minutes * MINUTE_MS;
      expect(burn(watched(afterMs, at), "1h", afterMs)?.perSecond).toBeLessThanOrEqual(20 / 2_400);
    }
    const afterMs = 13 * HOUR_MS;
    expect(burn(watched(afterMs, at), "1h", afterMs)?.perSecond).toBe(0);
    expect(hoursLeft(watched(afterMs, at), afterMs)).toBeGreaterThan((80 / 20) * 12);
  });

  test("as servers tell it that never agree, is spent once", () => {
    let seed = SEED;
    const levels = [100, 84, 71, 58];
    const random = (): number => (seed = (seed * 48_271) % 2_147_483_647);
    const kept = watched(13 * HOUR_MS, () => levels[random() % levels.length] ?? 0);
    expect(kept.newest("credits")?.refilled).toBeLessThanOrEqual(42);
  });

  test("for good, at two servers that never agree, has the pace that both have", () => {
    const at = (afterMs: number): number => (afterMs % 30_000 === 0 ? 100 : 80) - afterMs / HOUR_MS;
    const afterMs = 13 * HOUR_MS;
    // From one of them to the other, once.
    expect(burn(watched(afterMs, at), "1d", afterMs)?.perSecond).toBeLessThanOrEqual((13 + 20) / 13 / 3_600);
  });
});

test("mixtures of servers that lag: after an hour the forecast is right to 10 % at every poll", () => {
  const { worsts, judged } = worstForecasts(SEED, 15);
  expect(judged).toBeGreaterThan(1_200);
  expect(Math.max(...worsts)).toBeLessThan(0.1);
});

describe("a refill", () => {
  test("moves the end away by as much as it adds, and is no part of the pace", () => {
    const at = (afterMs: number): number => 30 - afterMs / HOUR_MS + (afterMs >= 26 * HOUR_MS ? 500 : 0);
    expect(hoursLeft(lived(25 * HOUR_MS, at), 25 * HOUR_MS)).toBeCloseTo(5, 0);
    const kept = lived(27 * HOUR_MS, at);
    expect(burn(kept, "1d", 27 * HOUR_MS)?.perSecond).toBeCloseTo(1 / 3_600, 5);
    expect(hoursLeft(kept, 27 * HOUR_MS)).toBeCloseTo(503, -1);
  });

  test("that happens on every day leaves the pace of the week as it is", () => {
    const daily = (afterMs: number): number => 24 - (afterMs % DAY_MS) / HOUR_MS;
    const kept = lived(7 * DAY_MS - MINUTE_MS, daily);
    expect(burn(kept, "7d", 7 * DAY_MS - MINUTE_MS)?.perSecond).toBeCloseTo(1 / 3_600, 5);
  });

  test("that is spent at once is spent", () => {
    const at = (minutes: number): number => (minutes < 60 ? 100 : minutes < 65 ? 600 : 400);
    const kept = lived(70 * MINUTE_MS, (afterMs) => at(afterMs / MINUTE_MS));
    expect(kept.newest("credits")).toMatchObject({ value: 400, refilled: 500 });
  });

  test("that is spent to below where it began is spent all the same", () => {
    const at = (minutes: number): number =>
      minutes < 60 ? 30 : Math.max(25, 530 - 100 * ((minutes - 60) / 5));
    const kept = lived(90 * MINUTE_MS, (afterMs) => at(afterMs / MINUTE_MS));
    expect(burn(kept, "1h", 90 * MINUTE_MS)?.perSecond).toBeGreaterThan(450 / 3_900);
  });

  test("each day is one, also where it is polled once an hour", () => {
    const at = (afterMs: number): number => 24 - (afterMs % DAY_MS) / HOUR_MS;
    const afterMs = 7 * DAY_MS - HOUR_MS;
    const kept = lived(afterMs, at, new KeptValues(), HOUR_MS);
    expect(burn(kept, "7d", afterMs)?.perSecond).toBeGreaterThan(0.85 / 3_600);
  });

  test("each few minutes leaves the pace as it is", () => {
    const at = (afterMs: number): number => 60 - (((2 * afterMs) / MINUTE_MS) % 25);
    const kept = lived(2 * HOUR_MS, at, new KeptValues(), 5_000);
    expect(burn(kept, "1h", 2 * HOUR_MS)?.perSecond).toBeCloseTo(2 / 60, 2);
  });

  test("of any size at any moment never brings the end closer than the pace without it", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.5, max: 20, noNaN: true }),
        fc.integer({ min: 60, max: 600 }),
        fc.double({ min: 200, max: 10_000, noNaN: true }),
        (perHour, refillMinute, amount) => {
          const endMs = 700 * MINUTE_MS;
          const at = (afterMs: number): number => 400 - (perHour * afterMs) / HOUR_MS;
          const refilled = (afterMs: number): number =>
            at(afterMs) + (afterMs >= refillMinute * MINUTE_MS ? amount : 0);
          const without = hoursLeft(lived(endMs, at), endMs);
          expect(hoursLeft(lived(endMs, refilled), endMs)).toBeGreaterThan(without);
        },
      ),
      { numRuns: worlds(15), seed: SEED },
    );
  });
});

describe("gaps, clocks and restarts", () => {
  const perHour = (afterMs: number): number => 1_000 - 3 * (afterMs / HOUR_MS);

  test("a night without an answer is part of the pace", () => {
    const kept = lived(12 * HOUR_MS, perHour);
    for (let afterMs = 20 * HOUR_MS; afterMs <= 21 * HOUR_MS; afterMs += MINUTE_MS)
      see(kept, START_MS + afterMs, perHour(afterMs));
    expect(burn(kept, "1d", 21 * HOUR_MS)?.perSecond).toBeCloseTo(3 / 3_600, 5);
  });

  test("whatever the clock does, the pace is a number of 0 or more, and the memory bounded", () => {
    const steps = fc.array(
      fc.record({
        stepMs: fc.oneof(
          fc.integer({ min: 1_000, max: 2 * HOUR_MS }),
          fc.integer({ min: -30 * DAY_MS, max: 30 * DAY_MS }),
        ),
        value: fc.double({ min: -1e15, max: 1e15, noNaN: true }),
      }),
      { maxLength: 400 },
    );
    fc.assert(
      fc.property(steps, (story) => {
        const kept = new KeptValues();
        let atMs = START_MS;
        for (const { stepMs, value } of story) {
          atMs += stepMs;
          see(kept, atMs, value);
          const points = kept.points("credits");
          expect(points.length).toBeLessThanOrEqual(200);
          expect(points.every((point, index) => point.atMs > (points[index - 1]?.atMs ?? -Infinity))).toBe(
            true,
          );
          for (const { perSecond = 0, emptyAtMs = atMs } of burnsOf(kept, atMs)) {
            expect(perSecond >= 0 && Number.isFinite(perSecond)).toBe(true);
            expect(emptyAtMs >= atMs && Number.isFinite(emptyAtMs)).toBe(true);
          }
        }
      }),
      { numRuns: worlds(30), seed: SEED },
    );
  });

  test("a clock that is set back by an hour costs the points of that hour, and nothing else", () => {
    const kept = lived(13 * HOUR_MS, perHour);
    const backMs = START_MS + 12 * HOUR_MS;
    for (let minute = 1; minute <= 60; minute += 1)
      see(kept, backMs + minute * MINUTE_MS, perHour(13 * HOUR_MS + minute * MINUTE_MS));
    // Two hours passed in what the clock calls one.
    expect(burn(kept, "1d", 13 * HOUR_MS)?.perSecond).toBeLessThan((3 / 3_600) * 1.2);
    expect(burn(kept, "1d", 13 * HOUR_MS)?.perSecond).toBeGreaterThanOrEqual(3 / 3_600 - 1e-9);
  });

  test("ten days of polls are kept in less than two hundred points", () => {
    const kept = lived(10 * DAY_MS, perHour);
    expect(kept.points("credits").length).toBeLessThan(200);
  });

  test("after a restart with the newest of each hour, the forecast goes on", () => {
    const endMs = 30 * HOUR_MS;
    const saved = new Map<number, SavedValue>();
    const kept = new KeptValues();
    for (let afterMs = 0; afterMs <= endMs; afterMs += MINUTE_MS) {
      see(kept, START_MS + afterMs, perHour(afterMs) + (afterMs >= 20 * HOUR_MS ? 5_000 : 0));
      const newest = kept.newest("credits");
      if (newest !== undefined) saved.set(Math.floor(newest.atMs / HOUR_MS), { ...newest, name: "credits" });
    }
    const restored = new KeptValues([...saved.values()]);
    expect(restored.read(CREDITS, MINUTE_MS, START_MS + endMs)[0]?.value).toBeCloseTo(
      perHour(endMs) + 5_000,
      0,
    );
    for (let minute = 1; minute <= 3; minute += 1)
      see(restored, START_MS + endMs + minute * MINUTE_MS, perHour(endMs) + 5_000);
    const afterMs = endMs + 3 * MINUTE_MS;
    expect(burn(restored, "1d", afterMs)?.perSecond).toBeCloseTo(3 / 3_600, 4);
  });
});

test("of more names than are kept, a restart keeps those seen last", () => {
  const hours = (name: string, from: number, to: number): readonly SavedValue[] =>
    Array.from({ length: to - from }, (_, index) => {
      return { name, atMs: START_MS + (from + index) * HOUR_MS, value: 5, refilled: 0 };
    });
  const renamed = Array.from({ length: 15 }, (_, index) => hours(`old-${index}`, index + 1, index + 2));
  const saved = [...hours("credits", 0, 30), ...renamed.flat()].toSorted((a, b) => a.atMs - b.atMs);
  const kept = new KeptValues(saved);
  expect(kept.points("credits")).toHaveLength(30);
  expect(kept.points("old-0")).toHaveLength(0);
  expect(kept.points("old-1")).toHaveLength(1);
});

test("names that reloads come up with do not pile up", () => {
  const kept = new KeptValues();
  for (let index = 0; index < 100; index += 1) see(kept, START_MS + index, index, `v${index}`);
  const left = Array.from({ length: 100 }, (_, index) => kept.newest(`v${index}`)).filter(
    (point) => point !== undefined,
  );
  expect(left).toHaveLength(15);
});

describe("a quota that the answers tell", () => {
  /** From full at the start, so much of it an hour; it refills at the end of the day. */
  function spent(anHour: number, hours: number, kept = new KeptValues()): KeptValues {
    for (let afterMs = 0; afterMs <= hours * HOUR_MS; afterMs += 5 * MINUTE_MS) {
      const left = 1 - (anHour * afterMs) / HOUR_MS;
      const quotas = [{ quota: "1d" as const, left, refillsInMs: DAY_MS - afterMs }];
      kept.polled(samplePoll({ endedAtMs: START_MS + afterMs, said: { quotas } }));
    }
    return kept;
  }

  const endOf = (kept: KeptValues, hours: number): number | undefined =>
    worstBurn(kept.quotas(MINUTE_MS, START_MS + hours * HOUR_MS)[0]?.burns ?? [])?.emptyAtMs;

  test("has an end where that comes before its refill", () => {
    expect(endOf(spent(0.1, 5), 5)).toBeCloseTo(START_MS + 10 * HOUR_MS, -6);
    expect(endOf(spent(0.04, 5), 5)).toBeUndefined();
  });

  test("has no end after its refill, however seldom it is polled", () => {
    for (const everyMs of [MINUTE_MS, 20 * MINUTE_MS, HOUR_MS, 3 * HOUR_MS]) {
      const kept = new KeptValues();
      for (let afterMs = everyMs / 2; afterMs <= 3 * DAY_MS; afterMs += everyMs) {
        const today = afterMs % DAY_MS;
        const quotas = [
          { quota: "1d" as const, left: 1 - (0.98 * today) / DAY_MS, refillsInMs: DAY_MS - today },
        ];
        kept.polled(samplePoll({ endedAtMs: START_MS + afterMs, said: { quotas } }));
        expect(
          worstBurn(kept.quotas(everyMs, START_MS + afterMs)[0]?.burns ?? [])?.emptyAtMs,
        ).toBeUndefined();
      }
    }
  });

  test("has no end after a restart beyond its refill, and an old one before it", () => {
    const old = { name: "quota 1d", atMs: START_MS, value: 0.02, refilled: 0 };
    const endAfter = (left: number): number | undefined => {
      const restored = new KeptValues([{ ...old, atMs: START_MS - DAY_MS, value: 0.98 }, old]);
      const quotas = [{ quota: "1d" as const, left, refillsInMs: 20 * HOUR_MS }];
      restored.polled(samplePoll({ endedAtMs: START_MS + HOUR_MS, said: { quotas } }));
      return worstBurn(restored.quotas(HOUR_MS, START_MS + HOUR_MS)[0]?.burns ?? [])?.emptyAtMs;
    };
    expect(endAfter(0.98)).toBeUndefined();
    expect(endAfter(0.01)).toBeLessThan(START_MS + 2 * HOUR_MS);
  });

  test("is not used up because one answer says so", () => {
    const kept = spent(0.02, 5);
    const at = START_MS + 5 * HOUR_MS + MINUTE_MS;
    const quotas = [{ quota: "1d", left: 0, refillsInMs: 19 * HOUR_MS }];
    kept.polled(samplePoll({ endedAtMs: at, said: { quotas } }));
    expect(worstBurn(kept.quotas(HOUR_MS, at)[0]?.burns ?? [])?.emptyAtMs).toBeUndefined();
  });

  test("is known for ten minutes, and after a restart once an answer told it again", () => {
    const kept = spent(0.1, 5);
    const at = START_MS + 5 * HOUR_MS;
    expect(kept.quotas(MINUTE_MS, at + 10 * MINUTE_MS)).toHaveLength(1);
    expect(kept.quotas(MINUTE_MS, at + 11 * MINUTE_MS)).toEqual([]);
    const restored = new KeptValues(kept.points("quota 1d").map((point) => ({ ...point, name: "quota 1d" })));
    expect(restored.quotas(MINUTE_MS, at)).toEqual([]);
    const quotas = [{ quota: "1d" as const, left: 0.49, refillsInMs: 12 * HOUR_MS }];
    restored.polled(samplePoll({ endedAtMs: at + MINUTE_MS, said: { quotas } }));
    expect(restored.quotas(MINUTE_MS, at + MINUTE_MS)[0]?.burns[0]?.perSecond).toBeCloseTo(0.1 / 3600, 6);
  });

  test("leaves ten values their place", () => {
    const kept = spent(0.1, 1);
    for (let value = 0; value < 10; value += 1) see(kept, START_MS, value, `value-${value}`);
    expect(kept.points("value-0")).toHaveLength(1);
    expect(kept.quotas(MINUTE_MS, START_MS + HOUR_MS)).toHaveLength(1);
  });
});

test("two servers that answer in turn have one forecast, which both agree with", () => {
  const at = (afterMs: number): number => (afterMs % 30_000 === 0 ? 100 : 80) - (0.01 * afterMs) / 1_000;
  const kept = new KeptValues();
  for (let afterMs = 0; afterMs <= 80 * MINUTE_MS; afterMs += 15_000) {
    see(kept, START_MS + afterMs, at(afterMs));
    if (afterMs < HOUR_MS) continue;
    const { perSecond, emptyAtMs = 0 } = burn(kept, "1h", afterMs) ?? {};
    expect(perSecond).toBeCloseTo(0.01, 5);
    expect((emptyAtMs - START_MS) / 1_000).toBeCloseTo(8_000, -1);
  }
});
