import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { figureOf, type Figure } from "../figure.ts";
import { Pacewatch } from "../pacewatch.ts";
import { rssBytes } from "../process-usage.ts";
import type { Stage } from "../stage.ts";
import { quantile } from "../statistics.ts";
import { startShipped } from "./shipped.ts";

const MB = 1_000_000;
const KB = 1_000;
const LOOKS = 5;
const SCRAPES = 7;

type Size = {
  readonly upstreams: number;
  /** Of several looks, once it has settled. */
  readonly rss: readonly number[];
  readonly scrapeMs: readonly number[];
  readonly scrapeBytes: number;
  readonly gzipBytes: number;
};

/** How much memory it holds, and what a scrape costs, by the number of upstreams. */
export async function measureMemory(stage: Stage): Promise<readonly Figure[]> {
  stage.progress(`RSS with ${stage.depth.sizes.join(", ")} upstreams, settling for ${stage.depth.settleS} s`);
  const bare = await bareNodeRss();
  // Beside each other: memory does not notice.
  const sizes = await Promise.all(stage.depth.sizes.map((upstreams) => measureSize(stage, upstreams)));
  return [
    figureOf("rss-bare", "RSS of bare Node.js", "MB", [bare / MB]),
    ...sizes.map(({ upstreams, rss }) =>
      figureOf(
        `rss-${upstreams}`,
        `RSS with ${many(upstreams)}`,
        "MB",
        rss.map((bytes) => bytes / MB),
      ),
    ),
    ...perUpstream(sizes),
    ...sizes.flatMap(scrapeFigures),
  ];
}

/** Of the largest, as it is where the most is asked of each. */
function perUpstream(sizes: readonly Size[]): readonly Figure[] {
  const [least, ...rest] = sizes;
  const most = rest.at(-1);
  if (least === undefined || most === undefined) return [];
  const base = quantile(least.rss, 0.5);
  const each = most.rss.map((bytes) => (bytes - base) / (most.upstreams - least.upstreams) / KB);
  return [
    figureOf("rss-per-upstream", `RSS per further upstream, up to ${many(most.upstreams)}`, "kB", each),
  ];
}

function scrapeFigures({ upstreams, scrapeMs, scrapeBytes, gzipBytes }: Size): readonly Figure[] {
  const of = `of ${many(upstreams)}`;
  return [
    figureOf(`scrape-ms-${upstreams}`, `scrape time ${of}`, "ms", scrapeMs),
    figureOf(`scrape-kb-${upstreams}`, `scrape size ${of}`, "kB", [scrapeBytes / KB]),
    figureOf(`scrape-gzip-kb-${upstreams}`, `scrape size ${of}, compressed`, "kB", [gzipBytes / KB]),
  ];
}

async function measureSize(stage: Stage, upstreams: number): Promise<Size> {
  const { nginx, depth } = stage;
  await using pacewatch =
    upstreams === 2
      ? await startShipped(nginx)
      : await Pacewatch.start({
          upstreams,
          schedule: { every: "10s" },
          baseUrl: () => nginx.httpUrl,
          connection: "fresh",
        });
  // Scraped while it settles, as Prometheus would.
  for (const part of [1, 2, 3]) {
    await sleep((depth.settleS * 1_000) / 3);
    if (part < 3) await pacewatch.scrape();
  }
  const rss: number[] = [];
  for (let look = 0; look < LOOKS; look++) {
    rss.push(await rssBytes(pacewatch.pid));
    await sleep(200);
  }
  const scrapes = [];
  for (let scrape = 0; scrape < SCRAPES; scrape++) scrapes.push(await pacewatch.scrape());
  const text = Buffer.from(scrapes.at(-1)?.text ?? "");
  return {
    upstreams,
    rss,
    scrapeMs: scrapes.map(({ ms }) => ms),
    scrapeBytes: text.length,
    gzipBytes: gzipSync(text).length,
  };
}

async function bareNodeRss(): Promise<number> {
  const idle = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  try {
    await sleep(1_000);
    return await rssBytes(idle.pid ?? 0);
  } finally {
    const exited = once(idle, "exit");
    idle.kill("SIGKILL");
    await exited;
  }
}

function many(count: number): string {
  return `${count.toLocaleString("en")} upstreams`;
}
