import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../src/kernel/exchange/reasons.ts";
import {
  type Column,
  type Columns,
  columnsOfPolls,
  LAST_HOUR,
  type Range,
  RANGES,
} from "../../../src/features/history/timeline.ts";
import { gauge } from "../../../src/http/markup/gauge.ts";
import { type Drawn, latencyLegend, plot, times } from "../../../src/features/page/plot.ts";
import { plotLegend, shapesOf } from "../../../src/features/page/plot-kinds.ts";
import { phaseBar } from "../../../src/features/page/plot-phases.ts";
import { scaleFor, ticksOf } from "../../../src/features/page/plot-scale.ts";
import { sampleUpstreamStatus } from "../../support/samples.ts";
import { drawn } from "./reading.ts";
import type { Incident } from "../../../src/features/history/incidents.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** A Saturday. */
const NOW_MS = Date.UTC(2026, 10, 21, 12, 17, 4);
const SIZE = { latencyHeight: 100, stripHeight: 28, isTold: true, incidentsAt: "" };

function rangeNamed(name: string): Range {
  return RANGES.find((range) => range.name === name) ?? LAST_HOUR;
}

/** One poll for each letter, a minute apart, the last of them now. */
function seenAs(letters: string, durationMs = 100, watchedMs = MINUTE_MS): Columns {
  const outcomes: Record<string, Outcome> = {
    o: "ok",
    f: "failed",
    t: "throttled",
    r: "rejected",
    u: "ours",
  };
  const polls = letters.split("").flatMap((letter, index) => {
    const outcome = outcomes[letter];
    const endedAtMs = NOW_MS - (letters.length - 1 - index) * MINUTE_MS;
    return outcome === undefined ? [] : [{ endedAtMs, outcome, durationMs, watchedMs }];
  });
  return { columnMs: MINUTE_MS, columns: columnsOfPolls(polls, MINUTE_MS), areQuantiles: true };
}

function drawnWith(seen: Columns, changes: Partial<Drawn> = {}): Drawn {
  return { ...sampleUpstreamStatus(), seen, incidents: [], ...changes };
}

async function plotOf(seen: Columns, changes: Partial<Drawn> = {}, range = LAST_HOUR): Promise<string> {
  return drawn(plot(drawnWith(seen, changes), { range, nowMs: NOW_MS }, SIZE));
}

function pathOf(markup: string, kind: string): string {
  return new RegExp(`<path class="${kind}" d="([^"]*)"`).exec(markup)?.[1] ?? "";
}

function boxesOf(markup: string, kind: string): readonly (readonly [x: number, width: number])[] {
  const boxes = markup.matchAll(new RegExp(`<rect class="${kind}" x="([\\d.]+)%" width="([\\d.]+)%"`, "g"));
  return [...boxes].map(([, x, width]) => [Number(x), Number(width)]);
}

describe("a plot over time", () => {
  test("says of each column in words what it shows", async () => {
    const columns = await plotOf(seenAs("ooft"));
    expect([...columns.matchAll(/<title>([^<]*)<\/title>/g)].map(([, title]) => title)).toEqual([
      "12:14:00 UTC: 1 ok; p50 100 ms, p95 100 ms, longest 100 ms",
      "12:15:00 UTC: 1 ok; p50 100 ms, p95 100 ms, longest 100 ms",
      "12:16:00 UTC: 1 failed",
      "12:17:00 UTC: 1 throttled",
    ]);
  });

  test("says the same in words for whoever does not see it", async () => {
    expect(await plotOf(seenAs("ooft"))).toContain(
      'aria-label="ai-router, the last 1 h: 2 ok, 1 failed, 1 throttled"',
    );
    expect(await plotOf(seenAs(""))).toContain('aria-label="ai-router, the last 1 h: no polls"');
  });

  test("has one axis for one moment, whatever was seen: the present column is at the right edge", async () => {
    const [few, many] = [await plotOf(seenAs("o")), await plotOf(seenAs("o".repeat(60)))];
    expect(pathOf(few, "ok")).toMatch(/^M59\./);
    expect(pathOf(many, "ok")).toMatch(/^M0\./);
    expect(pathOf(many, "ok").endsWith(pathOf(few, "ok"))).toBe(true);
  });

  test("leaves out what is older than its range, and what a clock that was set back left in the future", async () => {
    const markup = await plotOf(seenAs("o".repeat(90)));
    expect(pathOf(markup, "ok").match(/M/g)).toHaveLength(60);
    const future = { columnMs: MINUTE_MS, columns: [{ ...seenAs("o").columns[0], index: 99_999_999 }] };
    expect(pathOf(await plotOf({ ...seenAs(""), ...future } as Columns), "ok")).toBe("");
  });

  test("breaks the line where no poll was ok, and where nobody looked", async () => {
    const curve = pathOf(await plotOf(seenAs("oofoo--oo")), "curve");
    expect(curve.match(/M/g)).toHaveLength(3);
    expect(curve.match(/L/g)).toHaveLength(3);
  });

  test("draws a dot where one point has no line, and at the newest", async () => {
    expect(pathOf(await plotOf(seenAs("ofoo")), "dots").match(/M/g)).toHaveLength(2);
  });

  test("hatches what was not watched: before the first poll, between two, and since the last", async () => {
    const holes = boxesOf(
      await plotOf(seenAs(`${"o".repeat(20)}${"-".repeat(12)}${"o".repeat(13)}---`)),
      "unwatched",
    );
    expect(holes).toEqual([
      [0, 20],
      [53.33, 20],
      [95, 5],
    ]);
  });

  test("does not hatch the time between two polls that are seldom, and draws their line through it", async () => {
    const seldom = await plotOf(seenAs("o----".repeat(12), 100, 5 * MINUTE_MS));
    expect(boxesOf(seldom, "unwatched")).toEqual([]);
    expect(pathOf(seldom, "curve").match(/M/g)).toHaveLength(1);
    const missed = await plotOf(seenAs(`o----${"-".repeat(15)}${"o----".repeat(8)}`, 100, 5 * MINUTE_MS));
    expect(boxesOf(missed, "unwatched")).toHaveLength(1);
  });

  test("hatches what was not watched by the schedule of then, whatever it is now", async () => {
    // Every 5 s, with a quarter of an hour in which nobody looked; since a reload every 10 min, so nothing is missing.
    const often = (index: number): Column => ({
      index: Math.floor(NOW_MS / MINUTE_MS) - index,
      counts: { ok: 12, failed: 0, throttled: 0, rejected: 0, ours: 0 },
      watchedMs: MINUTE_MS,
      failedMs: 0,
      latency: { middleMs: 100, highMs: 100, longestMs: 100 },
    });
    const seldom = (index: number): Column => ({
      ...often(index),
      counts: { ...often(index).counts, ok: 1 },
      watchedMs: 10 * MINUTE_MS,
    });
    const minutes = (fromAgo: number, toAgo: number): readonly number[] =>
      Array.from({ length: fromAgo - toAgo }, (_, place) => fromAgo - place);
    const columns = [...minutes(59, 44), ...minutes(29, 20)].map(often).concat([11, 1].map(seldom));
    const markup = await plotOf({ columnMs: MINUTE_MS, columns, areQuantiles: true });
    expect(boxesOf(markup, "unwatched")).toEqual([[25, 25]]);
    expect(pathOf(markup, "curve").match(/M/g)).toHaveLength(2);
  });

  test("claims nothing where there was no poll", async () => {
    const markup = await plotOf(seenAs(""));
    expect(markup).not.toContain("NaN");
    expect(boxesOf(markup, "unwatched")).toEqual([[0, 100]]);
    expect(pathOf(markup, "curve")).toBe("");
  });

  test("shades incidents from when to when they were, and leads to them", async () => {
    const incident: Incident = {
      upstream: "ai-router",
      state: "down",
      reason: "timeout",
      startedAtMs: NOW_MS - 30 * MINUTE_MS - 4_000,
      endedAtMs: NOW_MS - 18 * MINUTE_MS - 4_000,
      polls: 3,
    };
    const old = { ...incident, startedAtMs: NOW_MS - 9 * HOUR_MS, endedAtMs: NOW_MS - 8 * HOUR_MS };
    const open = { ...incident, reason: "offline", startedAtMs: NOW_MS - 4_000, endedAtMs: undefined };
    const markup = await plotOf(seenAs("o"), { incidents: [open, incident, old] });
    expect(boxesOf(markup, "incident down")).toEqual([[48.33, 20]]);
    expect(boxesOf(markup, "incident offline")).toEqual([[98.33, 1.67]]);
    expect(markup).toContain(
      `<a href="#incident-${incident.startedAtMs}" aria-label="Down: timed out, since 11:47:00 UTC"`,
    );
    expect(markup).toContain("; 2 incidents");
    expect(
      boxesOf(await plotOf(seenAs("o"), { incidents: [old] }, rangeNamed("24h")), "incident down"),
    ).toHaveLength(1);
  });

  test("says whether its lines are quantiles or the mean and the longest", async () => {
    const [single, summed] = [seenAs("o"), { ...seenAs("o"), areQuantiles: false }];
    expect(await drawn(latencyLegend(drawnWith(single)))).toMatch(/p50.*up to p95.*objective 1 s/s);
    expect(await drawn(latencyLegend(drawnWith(summed)))).toMatch(/the mean.*up to the longest/s);
    expect(await plotOf(summed)).toContain("mean 100 ms, longest 100 ms");
  });
});

describe("the shapes of a column", () => {
  const counts = { ok: 0, failed: 0, throttled: 0, rejected: 0, ours: 0 };
  const latency = { middleMs: 100, highMs: 200, longestMs: 300 };
  const shapes = (some: Partial<typeof counts>, slowAboveMs?: number): string => {
    const all = { ...counts, ...some };
    return JSON.stringify(
      shapesOf(
        { index: 0, counts: all, watchedMs: 0, failedMs: 0, latency: all.ok > 0 ? latency : undefined },
        slowAboveMs,
      ),
    );
  };
  const boxes = (text: string): string => text.replaceAll(/"[a-z]+"/g, "");

  test("are told apart without any colour", () => {
    const each = [
      shapes({ ok: 1 }),
      shapes({ ok: 1 }, 50),
      shapes({ ok: 1 }, 250),
      ...(["failed", "throttled", "rejected", "ours"] as const).map((outcome) => shapes({ [outcome]: 1 })),
      shapes({ ok: 1, failed: 1 }),
    ];
    expect(new Set(each.map(boxes)).size).toBe(each.length);
  });

  test("tell how many of the polls met the trouble", () => {
    const heights = [1, 10, 50].map((failed) => {
      const [, trouble] = shapesOf(
        { index: 0, counts: { ...counts, ok: 50, failed }, watchedMs: 0, failedMs: 0, latency },
        undefined,
      );
      return trouble?.[1][0]?.[1] ?? 0;
    });
    expect(heights).toEqual(heights.toSorted((one, other) => one - other));
    expect(new Set(heights).size).toBe(3);
  });

  test("show the trouble that most polls met", () => {
    expect(shapes({ ok: 5, failed: 1, throttled: 3 })).toContain("throttled");
    expect(shapes({ failed: 1, ours: 1 })).toContain("failed");
  });

  test("are all in the legend", async () => {
    const legend = await drawn(plotLegend());
    for (const words of [
      "ok, but slow",
      "failed",
      "rejected",
      "throttled",
      "our own fault",
      "not watched",
      "incident",
    ])
      expect(legend).toContain(words);
  });
});

describe("the ticks", () => {
  test.each([
    ["1h", ["11:20", "11:30", "11:40", "11:50", "12:00", "12:10"]],
    ["24h", ["16:00", "20:00", "Sat 21", "04:00", "08:00", "12:00"]],
    ["7d", ["Sun 15", "Mon 16", "Tue 17", "Wed 18", "Thu 19", "Fri 20", "Sat 21"]],
    ["30d", ["Mon 26", "Mon 2", "Mon 9", "Mon 16"]],
  ])("of %s are in the words of a reader", (name, words) => {
    const { lengthMs } = rangeNamed(name);
    expect(ticksOf(NOW_MS - lengthMs, NOW_MS).map((tick) => tick.words)).toEqual(words);
  });

  test("are as many as fit, at whatever moment one looks", () => {
    for (let hour = 0; hour < 24 * 31; hour += 1) {
      for (const { lengthMs } of RANGES) {
        const toMs = NOW_MS + hour * HOUR_MS;
        const ticks = ticksOf(toMs - lengthMs, toMs);
        expect(ticks.length).toBeGreaterThanOrEqual(4);
        expect(ticks.length).toBeLessThanOrEqual(7);
      }
    }
  });

  test("have no words where half of them would not fit", async () => {
    const words = await drawn(times({ range: rangeNamed("24h"), nowMs: NOW_MS }, true));
    expect(words).toContain(">08:00<");
    expect(words).not.toContain(">12:00<");
    expect(words).toContain(">UTC<");
  });
});

describe("the scale", () => {
  test.each([[[80, 120, 1_000]], [[1]], [[0, 0.2]], [[60_000, 20]], [[]], [[Number.NaN, 5]]])(
    "keeps %j within the drawing, the longer the higher",
    (values) => {
      const { y, gridMs } = scaleFor(values, 100, 5);
      const places = values.filter((value) => !Number.isNaN(value)).map(y);
      for (const place of [...places, ...gridMs.map(y)]) {
        expect(place).toBeGreaterThanOrEqual(5);
        expect(place).toBeLessThanOrEqual(95);
      }
      expect(y(10_000)).toBeLessThanOrEqual(y(10));
      expect(gridMs.length).toBeGreaterThanOrEqual(1);
    },
  );
});

test("phases fill the bar, and are told in the order of the bar", async () => {
  const bar = await drawn(phaseBar({ dns: 10, wait: 70, transfer: 20 }));
  expect([...bar.matchAll(/x="([\d.]+)%" width="([\d.]+)%"/g)].map(([, x, width]) => [x, width])).toEqual([
    ["0", "10"],
    ["10", "70"],
    ["80", "20"],
  ]);
  expect(await drawn(phaseBar({}))).toContain("no phase was reached");
  expect(await drawn(phaseBar({ wait: 0 }))).not.toContain("NaN");
});

test("a gauge stays within its bounds, and says in words what it shows", async () => {
  const meter = await drawn(gauge({ label: "7 of 5", full: 5, used: 7, mark: -1 }));
  expect(meter).toContain('aria-label="7 of 5"');
  expect(meter).toContain('class="used" y="5" width="100%"');
  expect(meter).toContain('class="ours" y="5" width="0%"');
  expect(await drawn(gauge({ label: "", full: 0, used: 0, mark: 0 }))).not.toContain("NaN");
});
