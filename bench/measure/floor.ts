import { setTimeout as sleep } from "node:timers/promises";
import { Child } from "../programs/child.ts";
import type { FloorClient, FloorQuestion } from "../programs/floor.ts";
import { Pacewatch } from "../programs/pacewatch.ts";
import type { Fleet } from "../programs/pacewatch-config.ts";
import { cpuMs, rssBytes } from "../programs/process-usage.ts";
import { figureOf, ratioOf, type Figure } from "../report/figure.ts";
import type { Stage } from "../stage.ts";

export type Way = {
  readonly id: string;
  readonly says: string;
  readonly scheme: "http" | "https";
  readonly connection: Fleet["connection"];
};

export const WAYS: readonly Way[] = [
  { id: "http-fresh", says: "HTTP, fresh", scheme: "http", connection: "fresh" },
  { id: "https-fresh", says: "HTTPS, fresh", scheme: "https", connection: "fresh" },
  { id: "http-reused", says: "HTTP, reused", scheme: "http", connection: "reuse" },
  { id: "https-reused", says: "HTTPS, reused", scheme: "https", connection: "reuse" },
];

type Rate = {
  readonly perSecond: number;
  readonly upstreams: number;
  readonly every: string;
  readonly warmUpS: number;
  readonly windowS: number;
  /** At a rate at which the machine has room for both, they run beside each other, else in turns. */
  readonly isTogether: boolean;
};

/** As most people run it, read as Prometheus reads it. */
export const AS_MOST_RUN_IT: Rate = {
  perSecond: 100,
  upstreams: 300,
  every: "3s",
  warmUpS: 45,
  windowS: 15,
  isTogether: true,
};

/** As much as one process should be given. */
const AS_MUCH_AS_ONE_CAN: Rate = {
  perSecond: 1_000,
  upstreams: 1_000,
  every: "1s",
  warmUpS: 6,
  windowS: 5,
  isTogether: false,
};

const RATES: readonly Rate[] = [AS_MOST_RUN_IT, AS_MUCH_AS_ONE_CAN];

export type Used = { readonly us: number; readonly rssMb: number };
export type Running = AsyncDisposable & {
  readonly pid: number;
  readonly polls: () => Promise<number>;
  readonly read: () => Promise<void>;
};

const IDLE_S = 60;

/** CPU and RSS next to bare Node.js, which does the same requests and nothing else; and what it costs to wait. */
export async function measureFloor(stage: Stage): Promise<readonly Figure[]> {
  const { floorRounds } = stage.depth;
  if (floorRounds === 0) return [];
  const figures: Figure[] = [];
  for (const rate of RATES) {
    for (const way of WAYS) figures.push(...(await figuresOf(stage, rate, way, floorRounds)));
  }
  return [...figures, await idle(stage)];
}

async function figuresOf(stage: Stage, rate: Rate, way: Way, rounds: number): Promise<readonly Figure[]> {
  const says = `at ${rate.perSecond} a second, ${way.says}`;
  stage.progress(`next to bare Node.js ${says}`);
  const ours: Used[] = [];
  const theirs: Used[] = [];
  if (rate.isTogether) {
    await using floor = await startBare(stage, rate, way);
    await using pacewatch = await startPacewatch(stage, rate, way, floor.polls);
    await sleep(rate.warmUpS * 1_000);
    for (let round = 0; round < rounds; round++) {
      const [own, other] = await Promise.all([usedIn(rate, pacewatch), usedIn(rate, floor)]);
      ours.push(own);
      theirs.push(other);
    }
  } else {
    for (let round = 0; round < rounds; round++) {
      ours.push(await usedAlone(rate, await startPacewatch(stage, rate, way)));
      theirs.push(await usedAlone(rate, await startBare(stage, rate, way)));
    }
  }
  const id = `${rate.perSecond}-${way.id}`;
  const cpu = { ours: ours.map(({ us }) => us), theirs: theirs.map(({ us }) => us) };
  const rss = ours.map(({ rssMb }) => rssMb);
  const bare = theirs.map(({ rssMb }) => rssMb);
  return [
    ratioOf(`floor-${id}`, `CPU per poll ${says}, to bare Node.js`, "µs", cpu),
    figureOf(`rss-at-${id}`, `RSS ${says}`, "MB", rss),
    figureOf(`rss-bare-${id}`, `RSS of bare Node.js ${says}`, "MB", bare),
  ];
}

async function usedAlone(rate: Rate, running: Running): Promise<Used> {
  await using measured = running;
  await sleep(rate.warmUpS * 1_000);
  return await usedIn(rate, measured);
}

export async function usedIn(rate: Rate, running: Running): Promise<Used> {
  const pollsBefore = await running.polls();
  const cpuBeforeMs = await cpuMs(running.pid);
  const reading = running.read();
  await sleep(rate.windowS * 1_000);
  await reading;
  const polls = (await running.polls()) - pollsBefore;
  const usedMs = (await cpuMs(running.pid)) - cpuBeforeMs;
  return { us: (usedMs * 1_000) / polls, rssMb: (await rssBytes(running.pid)) / 1_000_000 };
}

/** The upstream counts requests; `others`: how many of them are not Pacewatch's. */
export async function startPacewatch(
  { nginx, caFile, note }: Stage,
  rate: Rate,
  way: Way,
  others: () => Promise<number> = async () => 0,
): Promise<Running> {
  const { upstreams, every } = rate;
  const pacewatch = await Pacewatch.start({
    upstreams,
    schedule: { every },
    baseUrl: (number) => nginx.url(way.scheme, number),
    connection: way.connection,
    caFile,
  });
  return {
    pid: pacewatch.pid,
    polls: async () => (await nginx.requests()) - (await others()),
    read: () =>
      pacewatch.scrape().then(
        () => undefined,
        () => note("a scrape was not answered, the machine was too busy"),
      ),
    [Symbol.asyncDispose]: () => pacewatch[Symbol.asyncDispose](),
  };
}

export async function startBare(
  { nginx, caFile }: Stage,
  rate: Rate,
  way: Way,
  client: FloorClient = "node",
): Promise<Running> {
  const { upstreams, perSecond } = rate;
  const url = nginx.url(way.scheme);
  const floor = new Child<FloorQuestion, number>("floor-main.ts");
  // One question at a time: both sides want to know.
  let answer: Promise<number> = Promise.resolve(0);
  const polls = (): Promise<number> => (answer = answer.then(() => floor.ask("asked")));
  await floor.ask({ url, caFile, perSecond, upstreams, connection: way.connection, client });
  return {
    pid: floor.pid,
    polls,
    read: async () => undefined,
    [Symbol.asyncDispose]: () => floor[Symbol.asyncDispose](),
  };
}

/** What it costs to wait: two upstreams, as the shipped config has, every 15 s, in a process that was scraped before. */
async function idle({ nginx, progress }: Stage): Promise<Figure> {
  progress(`two upstreams every 15s, for ${IDLE_S} s`);
  const schedule = { every: "15s" };
  const baseUrl = (number: number): string => nginx.url("http", number);
  const fleet = { upstreams: 2, schedule, baseUrl, connection: "fresh" } as const;
  await using pacewatch = await Pacewatch.start(fleet);
  await pacewatch.scrape();
  await sleep(IDLE_S * 1_000);
  const before = await cpuMs(pacewatch.pid);
  await sleep(IDLE_S * 1_000);
  const cores = ((await cpuMs(pacewatch.pid)) - before) / (IDLE_S * 1_000);
  return figureOf("idle-cores", "cores used, 2 upstreams every 15s", "cores", [cores]);
}
