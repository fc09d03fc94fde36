import { describe, expect, test } from "vitest";
import { latencyPlot, scaleFor } from "../../../src/http/page/plot-latency.ts";
import { pollStrip } from "../../../src/http/page/plot-strip.ts";
import { gauge } from "../../../src/http/page/budget-card.ts";
import { phaseBar } from "../../../src/http/page/plot-phases.ts";
import { drawn } from "./reading.ts";
import { sampleUpstreamStatus, samplePollStatus } from "../../support/samples.ts";

const NOW_MS = 100_000;

describe("the strip of the last polls", () => {
  const polls = [
    samplePollStatus({ atMs: 10_000 }),
    samplePollStatus({ atMs: 20_000, degraded: true, durationMs: 2_400 }),
    samplePollStatus({
      atMs: 30_000,
      outcome: "failed",
      reason: "timeout",
      status: undefined,
      durationMs: 10_001,
    }),
    samplePollStatus({ atMs: 40_000, outcome: "rejected", reason: "forbidden", status: 403 }),
    samplePollStatus({ atMs: 50_000, outcome: "throttled", reason: "rate", status: 429 }),
  ];
  const markup = pollStrip(polls, NOW_MS);

  test("has a title for each: time, outcome, latency", async () => {
    expect([...(await drawn(markup)).matchAll(/<title>([^<]*)<\/title>/g)].map(([, title]) => title)).toEqual(
      [
        "00:00:10 UTC: ok, 200, 120 ms",
        "00:00:20 UTC: ok, but slow, 200, 2.4 s",
        "00:00:30 UTC: failed, timed out, 10 s",
        "00:00:40 UTC: rejected, key does not allow it, 403, 120 ms",
        "00:00:50 UTC: throttled, too many requests, 429, 120 ms",
      ],
    );
  });

  test("tells each kind by a shape of its own, without any colour", async () => {
    const shapes = (await drawn(markup))
      .split("<g>")
      .slice(1)
      .map((bar) =>
        [...bar.matchAll(/ y="(\d+)" width="[^"]*" height="(\d+)"/g)]
          .map(([, y, height]) => `${y}+${height}`)
          .join(),
      );
    expect(new Set(shapes).size).toBe(5);
  });

  test("says the same in words for whoever does not see it", async () => {
    expect(await drawn(markup)).toContain(
      'aria-label="The last 5 polls: 1 ok; 1 ok, but slow; 1 failed; 1 throttled; 1 rejected. The newest: throttled"',
    );
  });

  test("has the newest at the right edge, however few there are", async () => {
    const places = [...(await drawn(markup)).matchAll(/ x="([\d.]+)%"/g)].map(([, x]) => Number(x));
    expect(Math.max(...places)).toBeGreaterThan(97);
    expect(Math.min(...places)).toBeGreaterThan(90);
  });

  test("tells the day of a poll that was on another", async () => {
    const old = await drawn(pollStrip([samplePollStatus({ atMs: 10_000 })], 86_400_000 + NOW_MS));
    expect(old).toContain("<title>1970-01-01 00:00:10 UTC: ok");
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

describe("the latency plot", () => {
  test("draws p50, p95 and the objective, and breaks the line where a poll was not ok", async () => {
    const lastPolls = [
      samplePollStatus(),
      samplePollStatus(),
      samplePollStatus({ outcome: "failed", reason: "dns" }),
      samplePollStatus(),
    ];
    const plot = await drawn(latencyPlot(sampleUpstreamStatus({ lastPolls }), 96));
    expect(plot).toContain("Latency of the last polls: p50 100 ms, p95 200 ms, objective 1 s");
    const curve = /class="curve" d="([^"]*)"/.exec(plot)?.[1] ?? "";
    expect(curve.match(/M/g)).toHaveLength(2);
    expect(curve.match(/L/g)).toHaveLength(1);
    expect(/class="dots" d="([^"]*)"/.exec(plot)?.[1]?.match(/M/g)).toHaveLength(1);
  });

  test("claims nothing where no poll was ok, but still tells the objective", async () => {
    const plot = await drawn(latencyPlot(sampleUpstreamStatus({ latency: undefined, lastPolls: [] }), 96));
    expect(plot).toContain("No latency yet");
    expect(plot).toContain("<b>1 s</b>");
  });
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
