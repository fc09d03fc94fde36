import { expect, test } from "vitest";
import { growthPlots } from "../../bench/report/growth-plots.ts";
import { svgOf, ticksUpTo, type Plot } from "../../bench/report/svg.ts";

const plot: Plot = {
  title: "a < b & c",
  xTitle: "x",
  yTitle: "y",
  lines: [
    {
      name: "one",
      points: [
        { x: 0, y: 0 },
        { x: 100, y: 50 },
      ],
    },
    { name: "two", points: [{ x: 50, y: 25 }] },
  ],
};

test.each([
  [100, [0, 20, 40, 60, 80, 100]],
  [5_000, [0, 1_000, 2_000, 3_000, 4_000, 5_000]],
  [0.7, [0, 0.2, 0.4, 0.6, 0.8]],
  [0, [0, 1]],
])("an axis up to %d has round ticks and ends at or above it", (most, ticks) => {
  expect(ticksUpTo(most)).toEqual(ticks);
});

test("the lowest point is at the lower left, the highest at the upper right", () => {
  const svg = svgOf(plot);
  expect(svg).toContain('points="70,344 550,44"');
  expect(svg).toContain('<circle cx="310" cy="194"');
});

test("each line has its name and a colour of its own", () => {
  const svg = svgOf(plot);
  expect(svg).toContain(">one</text>");
  expect(svg).toContain(">two</text>");
  const colours = [...svg.matchAll(/<polyline fill="none" stroke="(#\w+)"/g)].map(([, colour]) => colour);
  expect(new Set(colours).size).toBe(2);
});

test("words are escaped", () => {
  expect(svgOf(plot)).toContain("<title>a &lt; b &amp; c</title>");
});

test("a fleet is a line over the rates that it was polled at", () => {
  const common = { carriedPerSecond: 99, cores: 0.1, rssMb: 80, scrapeMs: 5 };
  const plots = growthPlots([
    { ...common, upstreams: 1_000, everyS: 10, askedPerSecond: 100, usPerPoll: 600 },
    { ...common, upstreams: 1_000, everyS: 1, askedPerSecond: 1_000, usPerPoll: 400 },
  ]);
  expect(plots["bench-cpu.svg"]?.lines).toEqual([
    {
      name: "1,000 upstreams",
      points: [
        { x: 100, y: 600 },
        { x: 1_000, y: 400 },
      ],
    },
  ]);
  expect(plots["bench-memory.svg"]?.lines[0]?.points).toEqual([{ x: 1_000, y: 80 }]);
});
