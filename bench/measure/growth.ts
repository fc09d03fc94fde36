import { setTimeout as sleep } from "node:timers/promises";
import type { Stage } from "../stage.ts";
import { Pacewatch } from "../programs/pacewatch.ts";
import { rssBytes } from "../programs/process-usage.ts";
import { quantile } from "../report/statistics.ts";
import { usPerPoll, windowOf } from "./window.ts";

/** One point of the plots. */
export type GrowthPoint = {
  readonly upstreams: number;
  readonly everyS: number;
  readonly askedPerSecond: number;
  readonly carriedPerSecond: number;
  readonly usPerPoll: number;
  readonly cores: number;
  readonly rssMb: number;
  /** Of the slowest schedule. */
  readonly scrapeMs: number | undefined;
};

const UPSTREAMS = [200, 1_000, 2_500, 5_000];
const SLOWEST_S = 10;
const EVERY_S = [SLOWEST_S, 5, 2, 1];
/** Beyond what one core can carry, by a little: there the curves bend. */
const MOST_PER_SECOND = 2_500;
const WINDOW_S = 4;

/** How cost grows with upstreams and with rate. */
export async function measureGrowth(stage: Stage): Promise<readonly GrowthPoint[]> {
  if (!stage.depth.withScale) return [];
  const points: GrowthPoint[] = [];
  for (const upstreams of UPSTREAMS) {
    for (const everyS of EVERY_S) {
      if (upstreams / everyS > MOST_PER_SECOND) continue;
      stage.progress(`growth: ${upstreams} upstreams every ${everyS}s`);
      points.push(await pointOf(stage, upstreams, everyS));
    }
  }
  return points;
}

async function pointOf(stage: Stage, upstreams: number, everyS: number): Promise<GrowthPoint> {
  const { nginx, depth } = stage;
  await using pacewatch = await Pacewatch.start({
    upstreams,
    schedule: { every: `${everyS}s` },
    baseUrl: (number) => nginx.url("http", number),
    connection: "fresh",
  });
  // The first look at everyone comes at once, whatever the rate.
  await sleep(depth.warmUpS * 1_000 + upstreams / 2);
  const spent = await windowOf(stage, pacewatch, WINDOW_S, false);
  const rssMb = (await rssBytes(pacewatch.pid)) / 1e6;
  // Only where the plot shows them: who is saturated answers late.
  const scrapes = everyS === SLOWEST_S ? [await pacewatch.scrape(), await pacewatch.scrape()] : [];
  return {
    upstreams,
    everyS,
    askedPerSecond: upstreams / everyS,
    carriedPerSecond: (spent.polls / spent.elapsedMs) * 1_000,
    usPerPoll: usPerPoll(spent),
    cores: spent.cpuMs / spent.elapsedMs,
    rssMb,
    scrapeMs:
      scrapes.length === 0
        ? undefined
        : quantile(
            scrapes.map(({ ms }) => ms),
            0.5,
          ),
  };
}
