/**
 * What a poll costs, and how much memory the daemon takes, next to another commit: `npm run bench:paired`. Each is what
 * that commit ships, and they run in turns, so that what slowed both is divided away. One is
 * what is checked out, or that of `--of`; the other is the one of `bench/baseline`, or of `--against`. `--against HEAD`
 * tells how far this machine is from saying 1 of two that are equal. `--over http`, `--rate 100` and `--pairs 6` measure a
 * part. `--fleet` measures what is checked out as the leader of a fleet, next to itself alone.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { certificates } from "../test/support/certificates.ts";
import { RedisServer } from "../test/support/processes/redis-server.ts";
import { findProgram } from "../tools/stack/find-program.ts";
import { baselineOf } from "./programs/baseline.ts";
import { startNginx, type Nginx } from "./programs/nginx.ts";
import { Pacewatch } from "./programs/pacewatch.ts";
import type { Asks } from "./programs/pacewatch-config.ts";
import { cpuNs, rssBytes } from "./programs/process-usage.ts";
import { shippedAt, shippedHere } from "./programs/shipped-commit.ts";
import { medianInterval, pairedRatios, summaryOf } from "./report/statistics.ts";

const HERE = fileURLToPath(new URL("..", import.meta.url));

type Over = "http" | "https";
type Load = { readonly upstreams: number; readonly every: string; readonly windowS: number };
/** By polls a second. */
const LOADS: Readonly<Record<string, Load>> = {
  100: { upstreams: 300, every: "3s", windowS: 14 },
  1000: { upstreams: 1_000, every: "1s", windowS: 8 },
};
/** By polls, as whoever begins to poll later is compiled later. */
const WARM_UP_S = 12;
const SCRAPE_WITHIN_S = 5;

const { values } = parseArgs({
  options: {
    of: { type: "string" },
    against: { type: "string" },
    rate: { type: "string", multiple: true, default: Object.keys(LOADS) },
    over: { type: "string", multiple: true, default: ["http", "https"] },
    pairs: { type: "string", default: "6" },
    fleet: { type: "boolean", default: false },
  },
});
const loads = values.rate.map((rate) => {
  const load = LOADS[rate];
  if (load === undefined)
    throw new Error(`--rate must be one of ${Object.keys(LOADS).join(", ")}, received ${rate}`);
  return { ...load, rate };
});
const overs = values.over.map((over): Over => {
  if (over !== "http" && over !== "https") throw new Error(`--over must be http or https, received ${over}`);
  return over;
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const nginxPath = findProgram("nginx");
if (nginxPath === undefined) throw new Error("nginx must be on the PATH (apt-get install nginx-light)");

type Side = { readonly root: string; readonly asks?: Asks };

const root = await (values.of === undefined ? shippedHere() : shippedAt(values.of));
await using redis = values.fleet ? await RedisServer.start() : undefined;
const lock = { redis: { url: `redis://127.0.0.1:${redis?.port}` } };
const here: Side = redis === undefined ? { root } : { root, asks: { root: { fleet: { lock, name: "a" } } } };
const against = values.fleet ? "itself alone" : (values.against ?? (await baselineOf(HERE)));
const there: Side = { root: values.fleet ? root : await shippedAt(against) };
const { server, ca } = certificates();
await using nginx = await startNginx(nginxPath, server);
for (const load of loads) for (const over of overs) await compare(over, load);

type Spent = { readonly pollUs: number; readonly rssMb: number };

async function compare(over: Over, load: Load & { readonly rate: string }): Promise<void> {
  const [ours, theirs]: [Spent[], Spent[]] = [[], []];
  for (let pair = 0; pair < Number(values.pairs); pair += 1) {
    // Who is first changes with each pair.
    for (const isOurs of pair % 2 === 0 ? [true, false] : [false, true]) {
      (isOurs ? ours : theirs).push(await spentBy(isOurs ? here : there, nginx, over, load));
    }
    console.log(`pair ${pair + 1}: here ${shown(ours.at(-1))}, there ${shown(theirs.at(-1))}`);
  }
  console.log(`${over}, ${load.rate} polls a second, here to ${against.slice(0, 12)}:`);
  for (const [what, unit] of [
    ["pollUs", "µs of CPU a poll"],
    ["rssMb", "MB"],
  ] as const) {
    const [one, other] = [ours, theirs].map((all) => all.map((each) => each[what])) as [number[], number[]];
    const ratios = pairedRatios(one, other);
    const { low, high, confidence } = medianInterval(ratios);
    const medians = [one, other].map((all) => summaryOf(all).median.toFixed(what === "pollUs" ? 0 : 1));
    console.log(
      `  ${medians.join(" to ")} ${unit}: ${summaryOf(ratios).median.toFixed(3)} ` +
        `(${low.toFixed(3)} to ${high.toFixed(3)}, with ${(confidence * 100).toFixed(0)} %)`,
    );
  }
}

function shown(spent: Spent | undefined): string {
  return `${spent?.pollUs.toFixed(0)} µs and ${spent?.rssMb.toFixed(1)} MB`;
}

/** Fresh connections, by the upstream's own count of requests; scraped once before the window and once in it. */
async function spentBy({ root, asks = {} }: Side, upstream: Nginx, over: Over, load: Load): Promise<Spent> {
  await using pacewatch = await Pacewatch.start(
    {
      upstreams: load.upstreams,
      schedule: { every: load.every },
      baseUrl: (number) => upstream.url(over, number),
      connection: "fresh",
      caFile: ca.certFile,
      asks,
    },
    { root },
  );
  const perSecond = load.upstreams / Number.parseInt(load.every, 10);
  const begun = await upstream.requests();
  // A machine that is too slow for them all must not wait for ever.
  for (let second = 0; second < 3 * WARM_UP_S; second += 1) {
    await sleep(1_000);
    if ((await upstream.requests()) - begun >= WARM_UP_S * perSecond) break;
  }
  await scrapeIfItCan(pacewatch);
  const before = await upstream.requests();
  const beforeNs = await cpuNs(pacewatch.pid);
  const scrape = scrapeIfItCan(pacewatch);
  const rss: number[] = [];
  for (let second = 0; second < load.windowS; second += 1) {
    await sleep(1_000);
    rss.push(await rssBytes(pacewatch.pid));
  }
  const spentNs = (await cpuNs(pacewatch.pid)) - beforeNs;
  const polls = (await upstream.requests()) - before;
  await scrape;
  const carried = polls / load.windowS / perSecond;
  if (carried < 0.95)
    console.log(`only ${(carried * 100).toFixed(0)} % of the polls were made: too busy a machine`);
  return { pollUs: spentNs / 1_000 / polls, rssMb: summaryOf(rss).median / 1e6 };
}

/** Who is saturated has no time to answer; what a poll costs is true all the same. */
async function scrapeIfItCan(pacewatch: Pacewatch): Promise<void> {
  const scrape = pacewatch.scrape().catch(() => undefined);
  await Promise.race([scrape, sleep(SCRAPE_WITHIN_S * 1_000)]);
}
