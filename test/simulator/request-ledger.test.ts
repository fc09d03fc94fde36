import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Limit } from "../../src/simulator/meters.ts";
import { ALGORITHM_NAMES, type AlgorithmName, ALGORITHMS } from "../support/algorithms.ts";
import { RequestLedger } from "../../src/simulator/request-ledger.ts";

const limits = fc.record({
  requests: fc.integer({ min: 1, max: 8 }),
  perMs: fc.integer({ min: 1, max: 100 }),
});
const gaps = fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 80 });
const arrivals = gaps.map((each) => {
  let nowMs = 0;
  return each.map((gapMs) => (nowMs += gapMs));
});
const algorithms = fc.constantFrom(...ALGORITHM_NAMES);

function verdicts(
  limit: Limit,
  algorithm: AlgorithmName,
  timesMs: readonly number[],
  windowStartMs = 0,
): boolean[] {
  const ledger = new RequestLedger([limit], ALGORITHMS[algorithm], windowStartMs);
  return timesMs.map((timeMs) => ledger.count(timeMs).allowed);
}

/** Replays the arrivals against a rule that looks at all that was allowed before. */
function byRule(
  timesMs: readonly number[],
  rule: (allowedMs: readonly number[], nowMs: number) => boolean,
): boolean[] {
  const allowedMs: number[] = [];
  return timesMs.map((nowMs) => {
    const allowed = rule(allowedMs, nowMs);
    if (allowed) allowedMs.push(nowMs);
    return allowed;
  });
}

function mostIn(timesMs: readonly number[], perMs: number): number {
  return Math.max(
    0,
    ...timesMs.map((endMs) => timesMs.filter((timeMs) => timeMs > endMs - perMs && timeMs <= endMs).length),
  );
}

describe("a sliding log", () => {
  it("allows a request when fewer than the limit were allowed in the window that ends with it", () => {
    fc.assert(
      fc.property(limits, arrivals, (limit, timesMs) => {
        const expected = byRule(
          timesMs,
          (allowedMs, nowMs) =>
            allowedMs.filter((timeMs) => timeMs > nowMs - limit.perMs).length < limit.requests,
        );
        expect(verdicts(limit, "sliding_log", timesMs)).toEqual(expected);
      }),
    );
  });

  it("lets a request leave the window exactly one window later", () => {
    expect(verdicts({ requests: 1, perMs: 1000 }, "sliding_log", [0, 999, 1000])).toEqual([
      true,
      false,
      true,
    ]);
  });
});

describe("fixed windows", () => {
  it("allow as many as the limit in each window of the calendar", () => {
    fc.assert(
      fc.property(limits, arrivals, fc.integer({ min: -500, max: 500 }), (limit, timesMs, startMs) => {
        const windowOf = (timeMs: number): number => Math.floor((timeMs - startMs) / limit.perMs);
        const expected = byRule(
          timesMs,
          (allowedMs, nowMs) =>
            allowedMs.filter((timeMs) => windowOf(timeMs) === windowOf(nowMs)).length < limit.requests,
        );
        expect(verdicts(limit, "fixed_window", timesMs, startMs)).toEqual(expected);
      }),
    );
  });

  it("let twice the limit through around an edge, and the worst window shows it", () => {
    const ledger = new RequestLedger([{ requests: 2, perMs: 1000 }], ALGORITHMS.fixed_window);
    expect([998, 999, 1000, 1001].map((timeMs) => ledger.count(timeMs).allowed)).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(ledger.worstWindow()).toEqual([{ limit: { requests: 2, perMs: 1000 }, requests: 4 }]);
  });
});

describe("a token bucket", () => {
  it("agrees with the theoretical arrival time of the cell that it would have sent", () => {
    fc.assert(
      fc.property(limits, arrivals, ({ requests, perMs }, timesMs) => {
        let theoretical = Number.NEGATIVE_INFINITY;
        const expected = timesMs.map((timeMs) => {
          const earliest = Math.max(timeMs * requests, theoretical);
          const allowed = earliest - timeMs * requests <= (requests - 1) * perMs;
          if (allowed) theoretical = earliest + perMs;
          return allowed;
        });
        expect(verdicts({ requests, perMs }, "token_bucket", timesMs)).toEqual(expected);
      }),
    );
  });

  it("lets 119 of a limit of 60 a minute into one minute", () => {
    const ledger = new RequestLedger([{ requests: 60, perMs: 60_000 }], ALGORITHMS.token_bucket);
    const burst = Array.from({ length: 60 }, () => 0);
    const refill = Array.from({ length: 59 }, (_, index) => (index + 1) * 1000);
    for (const timeMs of [...burst, ...refill]) expect(ledger.count(timeMs).allowed).toBe(true);
    expect(ledger.worstWindow()[0]?.requests).toBe(119);
  });
});

describe("every algorithm", () => {
  it("allows a refused request again when its reset has passed, and not a millisecond earlier", () => {
    let refusals = 0;
    fc.assert(
      fc.property(limits, arrivals, algorithms, (limit, timesMs, algorithm) => {
        const ledger = new RequestLedger([limit], ALGORITHMS[algorithm]);
        const last = timesMs.map((timeMs) => ({ timeMs, ...ledger.count(timeMs) })).at(-1);
        if (last === undefined || last.allowed) return;
        refusals += 1;
        const againMs = last.timeMs + last.resetMs;
        expect(last.resetMs).toBeGreaterThan(0);
        expect(verdicts(limit, algorithm, [...timesMs, againMs]).at(-1)).toBe(true);
        expect(verdicts(limit, algorithm, [...timesMs, againMs - 1]).at(-1)).toBe(false);
      }),
      { numRuns: 300 },
    );
    expect(refusals).toBeGreaterThan(0);
  });

  it("allows at one moment just as many more as it says remain", () => {
    fc.assert(
      fc.property(limits, arrivals, algorithms, (limit, timesMs, algorithm) => {
        const ledger = new RequestLedger([limit], ALGORITHMS[algorithm]);
        const remaining = timesMs.map((timeMs) => ledger.count(timeMs).remaining).at(-1) ?? 0;
        const nowMs = timesMs.at(-1) ?? 0;
        const more = Array.from({ length: remaining + 1 }, () => ledger.count(nowMs).allowed);
        expect(more).toEqual([...Array.from({ length: remaining }, () => true), false]);
      }),
    );
  });

  it("refuses when one of several limits does, and then uses up none of the others", () => {
    fc.assert(
      fc.property(limits, limits, arrivals, algorithms, (first, second, timesMs, algorithm) => {
        const both = new RequestLedger([first, second], ALGORITHMS[algorithm]);
        const allowedMs = timesMs.filter((timeMs) => both.count(timeMs).allowed);
        for (const limit of [first, second]) {
          expect(verdicts(limit, algorithm, allowedMs)).toEqual(allowedMs.map(() => true));
        }
        for (const [index, timeMs] of timesMs.entries()) {
          if (allowedMs.includes(timeMs)) continue;
          const before = allowedMs.filter((candidate) => candidate < timeMs);
          const alone = [first, second].map((limit) =>
            verdicts(limit, algorithm, [...before, timeMs]).at(-1),
          );
          expect(alone, `request ${index} at ${timeMs} ms`).toContain(false);
        }
      }),
    );
  });
});

describe("the worst window", () => {
  it("is the most requests in any window, refused ones too", () => {
    fc.assert(
      fc.property(limits, limits, arrivals, algorithms, (first, second, timesMs, algorithm) => {
        const ledger = new RequestLedger([first, second], ALGORITHMS[algorithm]);
        for (const timeMs of timesMs) ledger.count(timeMs);
        expect(ledger.worstWindow()).toEqual([
          { limit: first, requests: mostIn(timesMs, first.perMs) },
          { limit: second, requests: mostIn(timesMs, second.perMs) },
        ]);
      }),
    );
  });

  it("is exceeded by no window, wherever it begins", () => {
    fc.assert(
      fc.property(
        limits,
        arrivals,
        // In halves, which sums keep: a number next to zero would be lost, and its window be open at no end.
        fc.integer({ min: -100, max: 4000 }).map((halves) => halves / 2),
        (limit, timesMs, fromMs) => {
          const ledger = new RequestLedger([limit], ALGORITHMS.sliding_log);
          for (const timeMs of timesMs) ledger.count(timeMs);
          const inside = timesMs.filter((timeMs) => timeMs > fromMs && timeMs <= fromMs + limit.perMs);
          expect(ledger.worstWindow()[0]?.requests).toBeGreaterThanOrEqual(inside.length);
        },
      ),
    );
  });

  it("remembers the worst second of a day that ended quietly", () => {
    const ledger = new RequestLedger([{ requests: 10, perMs: 1000 }], ALGORITHMS.sliding_log);
    for (const timeMs of [0, 100, 200, 50_000, 90_000]) ledger.count(timeMs);
    expect(ledger.worstWindow()[0]?.requests).toBe(3);
    expect(ledger.requests).toBe(5);
    expect(ledger.violations).toBe(0);
  });
});

it("says how many were beyond the limit", () => {
  const ledger = new RequestLedger([{ requests: 2, perMs: 1000 }], ALGORITHMS.sliding_log);
  for (const timeMs of [0, 1, 2, 3, 1000]) ledger.count(timeMs);
  expect([ledger.requests, ledger.violations]).toEqual([5, 2]);
});

it("allows everything where there is no limit", () => {
  const verdict = new RequestLedger([], ALGORITHMS.sliding_log).count(0);
  expect(verdict).toEqual({ allowed: true, remaining: Number.POSITIVE_INFINITY, resetMs: 0, rooms: [] });
});
