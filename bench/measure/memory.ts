import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { figureOf, type Figure } from "../report/figure.ts";
import { type FormatName, Pacewatch } from "../programs/pacewatch.ts";
import { cpuMs, rssBytes } from "../programs/process-usage.ts";
import type { Stage } from "../stage.ts";
import { startShipped } from "./shipped.ts";

const MB = 1_000_000;
const KB = 1_000;
const SETTLING_SCRAPES = 2;
const SCRAPES = 5;
const CPU_SCRAPES = 40;
const FORMAT_NAMES: readonly FormatName[] = ["text 0.0.4", "OpenMetrics", "protobuf"];

type Size = {
  readonly upstreams: number;
  /** Once it has settled; of each start one. */
  readonly rss: readonly number[];
  readonly scrapeMs: readonly number[];
  readonly scrapes: Readonly<Record<FormatName, FormatScrapes>>;
};

/** What a scrape in one format costs: of each start one. */
type FormatScrapes = {
  readonly bytes: readonly number[];
  readonly gzipBytes: readonly number[];
  readonly cpuMs: readonly number[];
};

/** How much memory it holds, and what a scrape costs, by the number of upstreams. */
export async function measureMemory(stage: Stage): Promise<readonly Figure[]> {
  const { memoryRounds, sizes: counts, settleS } = stage.depth;
  const bare: number[] = [];
  const source: number[] = [];
  let sizes: readonly Size[] = counts.map(emptySize);
  for (let round = 1; round <= memoryRounds; round++) {
    stage.progress(`RSS with ${counts.join(", ")} upstreams, settling for ${settleS} s, round ${round}`);
    bare.push(await bareNodeRss());
    source.push(await sourceRss(stage));
    sizes = await measureOnce(stage, sizes);
  }
  const mb = (bytes: readonly number[]): readonly number[] => bytes.map((each) => each / MB);
  return [
    figureOf("rss-bare", "RSS of bare Node.js", "MB", mb(bare)),
    figureOf("rss-2-source", "RSS with 2 upstreams, from source", "MB", mb(source)),
    ...sizes.map(({ upstreams, rss }) =>
      figureOf(`rss-${upstreams}`, `RSS with ${many(upstreams)}`, "MB", mb(rss)),
    ),
    ...perUpstream(sizes),
    ...sizes.flatMap(scrapeFigures),
  ];
}

/** From the smallest to the largest, start by start. */
function perUpstream(sizes: readonly Size[]): readonly Figure[] {
  const [least, ...rest] = sizes;
  const most = rest.at(-1);
  if (least === undefined || most === undefined) return [];
  const further = most.upstreams - least.upstreams;
  const each = most.rss.map((bytes, round) => (bytes - (least.rss[round] ?? Number.NaN)) / further / KB);
  return [
    figureOf("rss-per-upstream", `RSS per further upstream, up to ${many(most.upstreams)}`, "kB", each),
  ];
}

function scrapeFigures({ upstreams, scrapeMs, scrapes }: Size): readonly Figure[] {
  const of = `of ${many(upstreams)}`;
  const kb = (bytes: readonly number[]): readonly number[] => bytes.map((each) => each / KB);
  return [
    figureOf(`scrape-ms-${upstreams}`, `scrape time ${of}`, "ms", scrapeMs),
    ...FORMAT_NAMES.flatMap((format) => {
      const { bytes, gzipBytes, cpuMs: cpu } = scrapes[format];
      const name = `${format.replace(/[^a-zA-Z]/g, "").toLowerCase()}-${upstreams}`;
      return [
        figureOf(`scrape-kb-${name}`, `scrape size ${of}, ${format}`, "kB", kb(bytes)),
        figureOf(`scrape-gzip-kb-${name}`, `scrape size ${of}, ${format}, compressed`, "kB", kb(gzipBytes)),
        figureOf(`scrape-cpu-${name}`, `CPU of a scrape ${of}, ${format}, compressed`, "ms", cpu),
      ];
    }),
  ];
}

/** Settled beside each other, as memory does not notice; then scraped one after the other. */
async function measureOnce(stage: Stage, before: readonly Size[]): Promise<readonly Size[]> {
  const { nginx, depth } = stage;
  await using stack = new AsyncDisposableStack();
  const running: Pacewatch[] = [];
  for (const { upstreams } of before) running.push(stack.use(await startSize(nginx, upstreams)));
  // Scraped while it settles, as Prometheus would.
  for (let part = 0; part < SETTLING_SCRAPES; part++) {
    await sleep((depth.settleS * 1_000) / SETTLING_SCRAPES);
    for (const pacewatch of running) await pacewatch.scrape();
  }
  const rss = await Promise.all(running.map(({ pid }) => rssBytes(pid)));
  const measured: Size[] = [];
  for (const [index, pacewatch] of running.entries()) {
    const size = before[index] ?? emptySize(0);
    measured.push({
      ...(await scraped(pacewatch, size)),
      rss: [...size.rss, rss[index] ?? Number.NaN],
    });
  }
  return measured;
}

function startSize(nginx: Stage["nginx"], upstreams: number): Promise<Pacewatch> {
  const schedule = { every: "10s" };
  const baseUrl = (number: number): string => nginx.url("http", number);
  if (upstreams === 2) return startShipped(nginx);
  return Pacewatch.start({ upstreams, schedule, baseUrl, connection: "fresh" });
}

async function scraped(pacewatch: Pacewatch, before: Size): Promise<Size> {
  const scrapeMs = [...before.scrapeMs];
  for (let scrape = 0; scrape < SCRAPES; scrape++) scrapeMs.push((await pacewatch.scrape()).ms);
  const scrapes = { ...before.scrapes };
  for (const format of FORMAT_NAMES) {
    const { bytes, gzipBytes, cpuMs: cpu } = scrapes[format];
    const [plain, gzip] = [await pacewatch.scrapeBytes(format), await pacewatch.scrapeAsPrometheus(format)];
    scrapes[format] = {
      bytes: [...bytes, plain],
      gzipBytes: [...gzipBytes, gzip],
      cpuMs: [...cpu, await scrapeCpuMs(pacewatch, format)],
    };
  }
  return { ...before, scrapeMs, scrapes };
}

/** Of the whole process, less what it spends on polls in as long a time. CPU is counted in steps of 10 ms. */
async function scrapeCpuMs(pacewatch: Pacewatch, format: FormatName): Promise<number> {
  const startedMs = performance.now();
  const before = await cpuMs(pacewatch.pid);
  for (let scrape = 0; scrape < CPU_SCRAPES; scrape++) await pacewatch.scrapeAsPrometheus(format);
  const between = await cpuMs(pacewatch.pid);
  await sleep(performance.now() - startedMs);
  const after = await cpuMs(pacewatch.pid);
  return Math.max(0, between - before - (after - between)) / CPU_SCRAPES;
}

function emptySize(upstreams: number): Size {
  const none: FormatScrapes = { bytes: [], gzipBytes: [], cpuMs: [] };
  const scrapes = { "text 0.0.4": none, OpenMetrics: none, protobuf: none };
  return { upstreams, rss: [], scrapeMs: [], scrapes };
}

/** What the bundle is made of, which is not shipped. */
async function sourceRss({ nginx, depth }: Stage): Promise<number> {
  await using pacewatch = await startShipped(nginx, "source");
  await sleep(depth.settleS * 1_000);
  await pacewatch.scrape();
  return await rssBytes(pacewatch.pid);
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
