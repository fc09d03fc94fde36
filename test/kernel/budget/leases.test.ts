import { expect, test } from "vitest";
import * as fc from "fast-check";

import { coldStartOf } from "../../../src/kernel/budget/cold-start.ts";
import { Leases, PACE_BURST_MS, paceGapMs } from "../../../src/kernel/budget/leases.ts";
import { seededRandom } from "../../../src/simulator/randomness.ts";
import { takeLease } from "../../support/take-lease.ts";

const MINUTE = { perMs: 60_000, cap: 3 };
const TERMS = { rates: [MINUTE], lingerMs: 0 };

function grants(leases: Leases, nowMs: number): boolean {
  return takeLease(leases, nowMs, []).kind === "granted";
}

function waitOf(leases: Leases, nowMs: number): number {
  const decision = takeLease(leases, nowMs, []);
  if (decision.kind === "granted") throw new Error("it was granted");
  return decision.untilMs;
}

test("requests of one budget are a pace gap apart", () => {
  const leases = new Leases(TERMS, 0, 0);
  expect(grants(leases, 0)).toBe(true);
  expect(waitOf(leases, 1)).toBe(20_000);
  expect(grants(leases, 20_000)).toBe(true);
});

test("a lease is held for a whole window after the answer, not after the sending", () => {
  const leases = new Leases(TERMS, 0, 0);
  for (const atMs of [0, 20_000, 40_000]) expect(grants(leases, atMs)).toBe(true);
  leases.settle("answered", 45_000);
  expect(waitOf(leases, 60_000)).toBe(45_000 + 60_060);
  expect(grants(leases, 105_059)).toBe(false);
  expect(grants(leases, 105_060)).toBe(true);
});

test("a request that hangs past its deadline still holds its lease for linger and a whole window", () => {
  const leases = new Leases({ rates: [{ perMs: 60_000, cap: 1 }], lingerMs: 5_000 }, 0, 0);
  expect(grants(leases, 0)).toBe(true);
  expect(waitOf(leases, 70_000)).toBeGreaterThan(70_000);
  leases.settle("unanswered", 80_000);
  expect(waitOf(leases, 80_000)).toBe(80_000 + 5_000 + 60_060);
});

test("a request of which no byte was written gives its lease back, but not its place in the pace", () => {
  const leases = new Leases({ rates: [{ perMs: 60_000, cap: 1 }], lingerMs: 0 }, 0, 0);
  expect(grants(leases, 0)).toBe(true);
  leases.settle("unsent", 10);
  expect(waitOf(leases, 10)).toBe(60_000);
  expect(grants(leases, 60_000)).toBe(true);
});

test("of several rates, the strictest decides at each moment", () => {
  const terms = {
    rates: [
      { perMs: 1_000, cap: 2 },
      { perMs: 60_000, cap: 4 },
    ],
    lingerMs: 0,
  };
  const leases = new Leases(terms, 0, 0);
  expect(paceGapMs(terms.rates)).toBe(15_000);
  for (const atMs of [0, 15_000, 30_000, 45_000]) {
    expect(grants(leases, atMs)).toBe(true);
    leases.settle("answered", atMs + 100);
  }
  expect(leases.heldIn(1_000, 45_500)).toBe(1);
  expect(leases.heldIn(60_000, 45_500)).toBe(4);
  expect(waitOf(leases, 60_000)).toBeCloseTo(100 + 60_060);
});

test("a lower cap from the upstream counts at once, and widens the pace", () => {
  const leases = new Leases({ rates: [{ perMs: 60_000, cap: 6 }], lingerMs: 0 }, 0, 0);
  expect(takeLease(leases, 0, [2]).kind).toBe("granted");
  expect(takeLease(leases, 10_000, [2])).toEqual({ kind: "wait", untilMs: 30_000 });
  expect(takeLease(leases, 10_000, [6]).kind).toBe("granted");
});

test("a fresh process waits one pace gap where gaps alone keep the limit over any number of lives", () => {
  expect(coldStartOf({ rates: [{ perMs: 60_000, cap: 12 }] }, [60], 10_000).coldMs).toBeCloseTo(5_005);
});

test("a fresh process that uses the whole limit waits until its dead predecessor is forgotten", () => {
  const { coldMs: waitMs } = coldStartOf({ rates: [{ perMs: 60_000, cap: 60 }] }, [60], 10_000);
  expect(waitMs).toBeCloseTo(70_070);
  const leases = new Leases({ rates: [{ perMs: 60_000, cap: 60 }], lingerMs: 0 }, 0, waitMs);
  expect(grants(leases, 70_000)).toBe(false);
  expect(grants(leases, 70_071)).toBe(true);
});

test("a window that a reload adds is waited for; one that stays keeps its leases", () => {
  const leases = new Leases(TERMS, 0, 0);
  expect(grants(leases, 0)).toBe(true);
  leases.settle("answered", 100);
  leases.change({ rates: [{ perMs: 60_000, cap: 2 }], lingerMs: 0 }, 1_000, 70_000);
  expect(leases.heldIn(60_000, 1_000)).toBe(1);
  expect(waitOf(leases, 1_000)).toBe(30_000);
  leases.change(
    {
      rates: [
        { perMs: 60_000, cap: 2 },
        { perMs: 120_000, cap: 4 },
      ],
      lingerMs: 0,
    },
    2_000,
    130_000,
  );
  expect(waitOf(leases, 40_000)).toBe(132_000);
});

test("the memory of a budget is bounded by its cap, not by its history", () => {
  const leases = new Leases({ rates: [{ perMs: 1_000, cap: 10 }], lingerMs: 0 }, 0, 0);
  let most = 0;
  for (let nowMs = 0; nowMs < 200_000; nowMs += 100) {
    if (grants(leases, nowMs)) leases.settle("answered", nowMs + 1);
    most = Math.max(most, leases.heldIn(1_000, nowMs));
  }
  expect(most).toBeLessThanOrEqual(10);
});

test.each([50, 110, 225, 550, 4_000])(
  "%i a second: what timers are late by is caught up, in a burst of a hundred milliseconds at most",
  (cap) => {
    const gapMs = 1_000 / cap;
    // The limit's own window is not what is tried here.
    const leases = new Leases({ rates: [{ perMs: 60_000, cap: 60 * cap }], lingerMs: 0 }, 0, 0);
    const sentMs: number[] = [];
    let nowMs = 0;
    for (let wakes = 0; nowMs < 20_000; wakes += 1) {
      while (grants(leases, nowMs)) sentMs.push(nowMs);
      // By whole milliseconds, up to one more, and now and then everything stands still for a while.
      nowMs = Math.ceil(waitOf(leases, nowMs)) + ((wakes * 7) % 11) / 10 + (wakes % 50 === 0 ? 90 : 0);
    }
    expect(sentMs.length).toBeGreaterThanOrEqual(20 * cap * 0.995);
    let early = 0;
    for (const [index, atMs] of sentMs.entries()) {
      early = Math.max(early, index * gapMs - (atMs - (sentMs[0] ?? 0)));
    }
    expect(early).toBeLessThanOrEqual(PACE_BURST_MS + gapMs);
    let burst = 0;
    while (grants(leases, nowMs + 10_000)) burst += 1;
    expect(burst).toBe(1 + Math.floor(PACE_BURST_MS / gapMs + 1e-9));
  },
);

test("whatever the latencies, no window at the upstream ever holds more than the cap", () => {
  const request = fc.record({
    askAfterMs: fc.integer({ min: 0, max: 400 }),
    countedAfterMs: fc.integer({ min: 0, max: 900 }),
    answeredAfterMs: fc.integer({ min: 0, max: 900 }),
    fate: fc.constantFrom("answered" as const, "unanswered" as const),
  });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.array(request, { maxLength: 80 }), (cap, requests) => {
      const lingerMs = 900;
      const leases = new Leases({ rates: [{ perMs: 1_000, cap }], lingerMs }, 0, 0);
      const countedAtMs: number[] = [];
      const endings: { atMs: number; fate: "answered" | "unanswered" }[] = [];
      let nowMs = 0;
      const settleDue = (): void => {
        endings.sort((a, b) => a.atMs - b.atMs);
        for (let next = endings[0]; next !== undefined && next.atMs <= nowMs; next = endings[0]) {
          endings.shift();
          leases.settle(next.fate, next.atMs);
        }
      };
      for (const { askAfterMs, countedAfterMs, answeredAfterMs, fate } of requests) {
        nowMs += askAfterMs;
        settleDue();
        if (!grants(leases, nowMs)) continue;
        // An answer comes after the count; of one that we gave up on, the count may come within linger of it.
        const endedAtMs = nowMs + (fate === "answered" ? countedAfterMs + answeredAfterMs : answeredAfterMs);
        countedAtMs.push(
          fate === "answered"
            ? nowMs + countedAfterMs
            : Math.min(nowMs + countedAfterMs, endedAtMs + lingerMs),
        );
        endings.push({ atMs: endedAtMs, fate });
      }
      for (const endMs of countedAtMs) {
        expect(
          countedAtMs.filter((atMs) => atMs > endMs - 1_000 && atMs <= endMs).length,
        ).toBeLessThanOrEqual(cap);
      }
    }),
    { seed: 20261121, numRuns: 300 },
  );
});

test("of a limit that is asked for all the time nine tenths are used, where an answer takes up to a tenth of its window", () => {
  const rate = { perMs: 2_000, cap: 20 };
  const leases = new Leases({ rates: [rate], lingerMs: 0 }, 0, 0);
  const random = seededRandom(1);
  const endsAtMs: number[] = [];
  let granted = 0;
  const lastMs = 100_000;
  for (let nowMs = 0; nowMs < lastMs; nowMs += 1) {
    for (const atMs of endsAtMs.filter((each) => each === nowMs)) leases.settle("answered", atMs);
    if (!grants(leases, nowMs)) continue;
    granted += 1;
    endsAtMs.push(nowMs + 1 + Math.floor(200 * random()));
  }
  expect(granted / ((lastMs / rate.perMs) * rate.cap)).toBeGreaterThan(0.9);
});

test("gaps that fill the limit to its last request leave no room for a process that stood still", () => {
  const terms = { rates: [{ perMs: 10_000, cap: 10 }], lingerMs: 0 };
  // Ten a window and one more that is still open: eleven. Standing still keeps a twelfth open.
  expect(coldStartOf(terms, [11], 1_000).coldMs).toBeCloseTo(11_011);
  expect(coldStartOf(terms, [13], 1_000).coldMs).toBeCloseTo(1_001);
});

test("a wait of one gap needs room for what may be caught up, before and after standing still", () => {
  const terms = { rates: [{ perMs: 1_000, cap: 100 }], lingerMs: 0 };
  // 1001 ms and two hundred more of catching up, ten milliseconds apart, and one to spare.
  expect(coldStartOf(terms, [121], 0).coldMs).toBeGreaterThan(1_000);
  expect(coldStartOf(terms, [122], 0).coldMs).toBeCloseTo(100.1);
});
