import type { GrowthPoint } from "../measure/growth.ts";
import type { Plot, Point } from "./svg.ts";

/** By file name. */
export function growthPlots(points: readonly GrowthPoint[]): Readonly<Record<string, Plot>> {
  const byUpstreams = Map.groupBy(points, ({ upstreams }) => upstreams);
  const byRate = (y: (point: GrowthPoint) => number): Plot["lines"] =>
    [...byUpstreams].map(([upstreams, own]) => ({
      name: `${upstreams.toLocaleString("en")} upstreams`,
      points: own.map((point) => ({ x: point.askedPerSecond, y: y(point) })),
    }));
  const slowest = points.filter(({ everyS }) => everyS === 10);
  const bySize = (y: (point: GrowthPoint) => number): readonly Point[] =>
    slowest.map((point) => ({ x: point.upstreams, y: y(point) }));
  return {
    "bench-cpu.svg": {
      title: "CPU per poll, HTTP, fresh connections",
      xTitle: "polls asked for a second",
      yTitle: "µs",
      lines: byRate((point) => point.usPerPoll),
    },
    "bench-carried.svg": {
      title: "Polls made",
      xTitle: "polls asked for a second",
      yTitle: "polls made a second",
      lines: byRate((point) => point.carriedPerSecond),
    },
    "bench-memory.svg": {
      title: "RSS, every 10s",
      xTitle: "upstreams",
      yTitle: "MB",
      lines: [{ name: "RSS", points: bySize((point) => point.rssMb) }],
    },
    "bench-scrape.svg": {
      title: "Scrape time, every 10s",
      xTitle: "upstreams",
      yTitle: "ms",
      lines: [{ name: "scrape", points: bySize((point) => point.scrapeMs ?? 0) }],
    },
  };
}
