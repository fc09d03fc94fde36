import { setTimeout as sleep } from "node:timers/promises";
import { ask } from "../../test/support/http-ask.ts";
import { totalOf } from "../programs/counters.ts";
import { figureOf, type Figure } from "../report/figure.ts";
import { Pacewatch } from "../programs/pacewatch.ts";
import { cpuMs } from "../programs/process-usage.ts";
import type { Stage } from "../stage.ts";

const UPSTREAMS = 5_000;
const SCRAPE_EVERY_S = 15;
const SCRAPES = 3;
const ASKED_EVERY_S = 3;

/** 5,000 upstreams every 10 s, as a large installation would run: scraped every 15 s, its page looked at. */
export async function measureScale({ nginx, depth, progress }: Stage): Promise<readonly Figure[]> {
  if (!depth.withScale) return [];
  progress(`${UPSTREAMS} upstreams every 10s, for ${SCRAPES * SCRAPE_EVERY_S} s`);
  const baseUrl = (number: number): string => nginx.url("http", number);
  const schedule = { every: "10s" };
  await using pacewatch = await Pacewatch.start({
    upstreams: UPSTREAMS,
    schedule,
    baseUrl,
    connection: "fresh",
  });
  // The first look at everyone, which comes at once, is over by then.
  await sleep(30_000);
  const before = await pacewatch.scrape();
  let after = before;
  const cores: number[] = [];
  const pageMs: number[] = [];
  const apiMs: number[] = [];
  for (let scrape = 0; scrape < SCRAPES; scrape++) {
    const startMs = performance.now();
    const cpuBeforeMs = await cpuMs(pacewatch.pid);
    await sleep(SCRAPE_EVERY_S * 1_000);
    after = await pacewatch.scrape();
    cores.push(((await cpuMs(pacewatch.pid)) - cpuBeforeMs) / (performance.now() - startMs));
  }
  const lost = skippedIn(after.text) - skippedIn(before.text);
  progress(`${UPSTREAMS} upstreams: the page and the API`);
  for (let look = 0; look < SCRAPES * 2; look++) {
    pageMs.push(await msOf(`${pacewatch.url}/`));
    apiMs.push(await msOf(`${pacewatch.url}/api/v1/upstreams`));
    await sleep(ASKED_EVERY_S * 100);
  }
  return [
    figureOf("scale-missed", "slots skipped, 5,000 upstreams every 10s, for 45 s", "count", [lost]),
    figureOf("scale-cores", "cores used, 5,000 upstreams every 10s, scraped every 15 s", "cores", cores),
    figureOf("scale-page", "the status page of 5,000 upstreams", "ms", pageMs),
    figureOf("scale-api", "/api/v1/upstreams of 5,000 upstreams", "ms", apiMs),
  ];
}

function skippedIn(text: string): number {
  return totalOf(text, "pacewatch_polls_skipped_total");
}

async function msOf(url: string): Promise<number> {
  const startMs = performance.now();
  const { status } = await ask(url);
  if (status !== 200) throw new Error(`cannot measure ${url}: it must answer 200, received ${status}`);
  return performance.now() - startMs;
}
