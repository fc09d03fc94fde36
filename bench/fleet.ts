/**
 * What a fleet adds to a poll: `npm run bench:fleet`. Two daemons poll alike, one alone and one as the only replica of a
 * fleet, at the same time, so that what slows the machine slows both. The more upstreams there are, and the more seldom
 * each is polled, the more a beat would cost if it looked at all of them: `--upstreams 1000 --every 15s`.
 */

import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { certificates } from "../test/support/certificates.ts";
import { RedisServer } from "../test/support/processes/redis-server.ts";
import { totalOf } from "./programs/counters.ts";
import { keysOf, pacewatchConfig } from "./programs/pacewatch-config.ts";
import { Pacewatch } from "./programs/pacewatch.ts";
import { PlainUpstream } from "./programs/plain-upstream.ts";
import { cpuMs } from "./programs/process-usage.ts";
import { pairedRatios, summaryOf } from "./report/statistics.ts";

/** Until what is hot is compiled. */
const WARM_UP_MS = 90_000;
const { values } = parseArgs({
  options: {
    pairs: { type: "string", default: "8" },
    upstreams: { type: "string", default: "100" },
    seconds: { type: "string", default: "15" },
    every: { type: "string", default: "1s" },
  },
});
const [pairs, upstreams, seconds] = [values.pairs, values.upstreams, values.seconds].map(Number);

await using answering = await PlainUpstream.start(certificates().server);
await using redis = await RedisServer.start();
await using alone = await start(upstreams ?? 0, {});
// One more spreads its polls differently: at the same moments, whoever comes first would wake the upstream for both.
await using inFleet = await start((upstreams ?? 0) + 1, {
  fleet: { redis: { url: `redis://127.0.0.1:${redis.port}` }, replicas: 1, mode: "shard", name: "only" },
});
await sleep(WARM_UP_MS);
const [one, other]: [number[], number[]] = [[], []];
for (let pair = 1; pair <= (pairs ?? 0); pair += 1) {
  const [its, ours] = await Promise.all([usPerPoll(alone), usPerPoll(inFleet)]);
  one.push(its);
  other.push(ours);
  console.log(`pair ${pair}: alone ${its.toFixed(0)} µs of CPU a poll, in a fleet ${ours.toFixed(0)} µs`);
}
const { min, median, max } = summaryOf(pairedRatios(other, one));
const more = summaryOf(other.map((us, index) => us - (one[index] ?? 0)));
console.log(
  `\nalone ${summaryOf(one).median.toFixed(0)} µs, in a fleet ${summaryOf(other).median.toFixed(0)} µs (medians)`,
);
console.log(
  `more ${more.median.toFixed(0)} µs (${more.min.toFixed(0)} to ${more.max.toFixed(0)}); ${median.toFixed(3)} (${min.toFixed(3)} to ${max.toFixed(3)})`,
);

async function start(count: number, more: object): Promise<Pacewatch> {
  const folder = await mkdtemp(join(tmpdir(), "pacewatch-bench-"));
  const path = join(folder, "pacewatch.yaml");
  const fleet = {
    upstreams: count,
    schedule: { every: values.every },
    baseUrl: () => answering.httpUrl,
    connection: "fresh",
  } as const;
  const config: object = JSON.parse(pacewatchConfig(fleet)) as object;
  await writeFile(path, JSON.stringify({ ...config, ...more }));
  return await Pacewatch.startWith(path, keysOf(fleet.upstreams), { folder, form: "source" });
}

async function usPerPoll(pacewatch: Pacewatch): Promise<number> {
  const polls = async (): Promise<number> =>
    totalOf((await pacewatch.scrape()).text, "pacewatch_polls_total");
  const before = await polls();
  const beforeMs = await cpuMs(pacewatch.pid);
  await sleep((seconds ?? 0) * 1_000);
  const spentMs = (await cpuMs(pacewatch.pid)) - beforeMs;
  return (spentMs * 1_000) / ((await polls()) - before);
}
