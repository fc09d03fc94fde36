import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { faultAt, type FaultScript, HEALTHY } from "../../src/simulator/faults.ts";
import { changesOf, describeScript, scenesOf } from "../../src/simulator/timeline.ts";

const script: FaultScript = {
  periodMs: 100_000,
  entries: [
    { fromMs: 40_000, untilMs: 65_000, fault: { kind: "slow", delayMs: 3000 }, words: "is slow" },
    { fromMs: 65_000, untilMs: 70_000, fault: { kind: "status", code: 500 }, words: "answers 500" },
  ],
};

/** Entries that follow one another, some at once and some after a healthy time. */
const scripts = fc
  .record({
    repeats: fc.boolean(),
    parts: fc.array(
      fc.record({
        healthyMs: fc.integer({ min: 0, max: 8 }),
        lastsMs: fc.integer({ min: 1, max: 8 }),
        words: fc.constantFrom("one", "two", "three"),
      }),
      { maxLength: 6 },
    ),
    restMs: fc.integer({ min: 1, max: 10 }),
  })
  .map(({ repeats, parts, restMs }): FaultScript => {
    let atMs = 0;
    const entries = parts.map(({ healthyMs, lastsMs, words }) => {
      const fromMs = atMs + healthyMs;
      atMs = fromMs + lastsMs;
      return { fromMs, untilMs: atMs, fault: { kind: "status", code: 500 } as const, words };
    });
    return { periodMs: repeats ? atMs + restMs : Number.POSITIVE_INFINITY, entries };
  });

/** What people would read at that moment. */
function wordsAt(of: FaultScript, elapsedMs: number): string {
  const momentMs = elapsedMs % of.periodMs;
  const scene = scenesOf(of).find(({ fromMs, untilMs }) => fromMs <= momentMs && momentMs < untilMs);
  return scene?.words ?? "nothing";
}

describe("a script of faults", () => {
  it("breaks the upstream from the first moment of an entry until just before its last", () => {
    const kinds = [0, 39_999, 40_000, 64_999, 65_000, 69_999, 70_000].map((at) => faultAt(script, at).kind);
    expect(kinds).toEqual(["none", "none", "slow", "slow", "status", "status", "none"]);
  });

  it("begins anew after each period", () => {
    expect(faultAt(script, 100_000 + 66_000)).toEqual({ kind: "status", code: 500 });
    expect(faultAt(script, 1_000_000)).toEqual(HEALTHY);
  });

  it("plays once where its period is infinite", () => {
    const once = { ...script, periodMs: Number.POSITIVE_INFINITY };
    expect(faultAt(once, 66_000).kind).toBe("status");
    expect(faultAt(once, 166_000).kind).toBe("none");
  });
});

describe("the scenes of a script", () => {
  it("cover the whole period without a hole, and tell the same faults", () => {
    fc.assert(
      fc.property(scripts, fc.integer({ min: 0, max: 200 }), (any, elapsedMs) => {
        const scenes = scenesOf(any);
        expect([0, ...scenes.map(({ untilMs }) => untilMs)]).toEqual([
          ...scenes.map(({ fromMs }) => fromMs),
          any.periodMs,
        ]);
        for (const scene of scenes) expect(scene.untilMs).toBeGreaterThan(scene.fromMs);
        const momentMs = elapsedMs % any.periodMs;
        const scene = scenes.find(({ fromMs, untilMs }) => fromMs <= momentMs && momentMs < untilMs);
        expect(scene?.fault).toBe(faultAt(any, elapsedMs));
      }),
    );
  });

  it("read as a table for people", () => {
    expect(describeScript(script)).toEqual([
      "0:00 to 0:40  is healthy",
      "0:40 to 1:05  is slow",
      "1:05 to 1:10  answers 500",
      "1:10 to 1:40  is healthy",
      "then again from 0:00",
    ]);
  });
});

describe("the changes of a script", () => {
  it("are the beginning of an entry, the end of one, and the same in each period", () => {
    const first = changesOf(script).take(7);
    expect([...first].map(({ atMs, words }) => [atMs, words])).toEqual([
      [40_000, "is slow"],
      [65_000, "answers 500"],
      [70_000, "is healthy"],
      [140_000, "is slow"],
      [165_000, "answers 500"],
      [170_000, "is healthy"],
      [240_000, "is slow"],
    ]);
  });

  it("do not come where nothing ever changes", () => {
    const forever = { ...script.entries[0], fromMs: 0, untilMs: 10, fault: HEALTHY, words: "sleeps" };
    expect([...changesOf({ periodMs: 10, entries: [forever] })]).toEqual([]);
    expect([...changesOf({ periodMs: Number.POSITIVE_INFINITY, entries: [] })]).toEqual([]);
  });

  it("come at each millisecond at which other words begin to hold", () => {
    fc.assert(
      fc.property(scripts, (any) => {
        const expected = Array.from({ length: 250 }, (_, atMs) => ({
          atMs,
          words: wordsAt(any, atMs),
        })).filter(({ atMs, words }) => atMs > 0 && words !== wordsAt(any, atMs - 1));
        expect([...changesOf(any).take(expected.length)]).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });
});
