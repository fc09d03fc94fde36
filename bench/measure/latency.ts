import { setTimeout as sleep } from "node:timers/promises";
import { ask } from "../../test/support/http-ask.ts";
import { ratioOf, type Figure } from "../report/figure.ts";
import { Pacewatch } from "../programs/pacewatch.ts";
import { nameOf, type Fleet } from "../programs/pacewatch-config.ts";
import type { LoadQuestion } from "../programs/load.ts";
import type { Stage } from "../stage.ts";
import { quantile } from "../report/statistics.ts";
import { errorsOfPolls, errorsOfProbes, partsOf, type ToldPoll } from "./errors.ts";

const PER_SECOND = 200;
const BURST_GAP_S = 2;
/** At least as many as a round has parts. */
const BURSTS = 2;
/** One upstream's polls are further apart than this, twice. */
const NEAR_MS = 400;
const WARM_UP_S = 1.5;
/** Of the upstreams of a large fleet, as many are asked what they measured: asking costs time. */
const MOST_ASKED = 250;

/** In milliseconds, one part of the round after the other. */
type Errors = readonly (readonly number[])[];
type Kind = "idle" | "scraped" | "scraped-plain" | "burst";
type Scraper = "as Prometheus" | "uncompressed";
type Round = Readonly<Record<Kind | "theirIdle" | "theirBurst", Errors>>;

const QUANTILES = { p50: 0.5, p99: 0.99 } as const;

const KINDS: Readonly<Record<Kind, string>> = {
  idle: `${PER_SECOND} a second`,
  scraped: `${PER_SECOND} a second, 1,000 upstreams scraped in a loop`,
  "scraped-plain": `${PER_SECOND} a second, 1,000 upstreams scraped in a loop uncompressed`,
  burst: `${PER_SECOND} with one schedule, to ${PER_SECOND} probes at once`,
};

/** Measured latency against the upstream's own clock. */
export async function measureLatency(stage: Stage): Promise<readonly Figure[]> {
  const rounds: Round[] = [];
  const { errorRounds } = stage.depth;
  for (let round = 1; round <= errorRounds; round++) {
    const told = (what: string): void =>
      stage.progress(`latency error, round ${round} of ${errorRounds}: ${what}`);
    rounds.push(await oneRound(stage, told));
  }
  const measured = Object.entries(KINDS).filter(([kind]) =>
    rounds.some((round) => round[kind as Kind].length > 0),
  );
  return measured.flatMap(([kind, says]) =>
    Object.entries(QUANTILES).map(([name, part]) => {
      const of = (whose: keyof Round): readonly number[] =>
        rounds.flatMap((round) => round[whose].map((errorsMs) => quantile(errorsMs, part)));
      return ratioOf(`error-${kind}-${name}`, `latency error ${name}, ${says}`, "ms", {
        ours: of(kind as Kind),
        theirs: of(kind === "burst" ? "theirBurst" : "theirIdle"),
      });
    }),
  );
}

async function oneRound(stage: Stage, told: (what: string) => void): Promise<Round> {
  const { errorWindowS } = stage.depth;
  told("Pacewatch");
  const idle = await pacewatchErrors(stage, PER_SECOND, { every: "1s" }, errorWindowS);
  told("blackbox_exporter");
  const theirIdle = await blackboxErrors(stage, {
    kind: "rate",
    perSecond: PER_SECOND,
    seconds: errorWindowS,
  });
  told("Pacewatch, scraped in a loop");
  const scraped = await pacewatchErrors(stage, 1_000, { every: "5s" }, errorWindowS, "as Prometheus");
  const plain = stage.depth.withScale ? await uncompressed(stage, told) : [];
  told("Pacewatch, one schedule");
  const cron = { cron: `*/${BURST_GAP_S} * * * * *` };
  const burst = await pacewatchErrors(stage, PER_SECOND, cron, BURST_GAP_S * BURSTS);
  told("blackbox_exporter, at once");
  const atOnce = { kind: "burst", count: PER_SECOND } as const;
  const theirBurst = await blackboxErrors(stage, atOnce, BURSTS);
  return { idle, theirIdle, scraped, "scraped-plain": plain, burst, theirBurst };
}

/** There is no goal for it. */
async function uncompressed(stage: Stage, told: (what: string) => void): Promise<Errors> {
  told("Pacewatch, scraped in a loop uncompressed");
  return pacewatchErrors(stage, 1_000, { every: "5s" }, stage.depth.errorWindowS, "uncompressed");
}

async function pacewatchErrors(
  { depth, clockUpstream }: Stage,
  upstreams: number,
  schedule: Fleet["schedule"],
  seconds: number,
  scraper?: Scraper,
): Promise<Errors> {
  const baseUrl = (number: number): string => `${clockUpstream.url(number)}/u${number}`;
  await using pacewatch = await Pacewatch.start({ upstreams, schedule, baseUrl, connection: "fresh" });
  const scrape = (): Promise<unknown> =>
    scraper === "uncompressed" ? pacewatch.scrape() : pacewatch.scrapeAsPrometheus();
  if (scraper !== undefined) await scrape();
  await sleep(WARM_UP_S * 1_000);
  const startMs = performance.timeOrigin + performance.now();
  const endMs = startMs + seconds * 1_000;
  const now = (): number => performance.timeOrigin + performance.now();
  if (scraper !== undefined) while (now() < endMs) await scrape();
  await sleep(Math.max(0, endMs - now()));
  // Those that the end found in flight are over after this.
  await sleep(200);
  const served = await clockUpstream.served();
  const step = Math.max(1, Math.floor(upstreams / MOST_ASKED));
  const polls: ToldPoll[] = [];
  for (let upstream = 0; upstream < upstreams; upstream += step) {
    polls.push(...(await pollsOf(pacewatch, upstream)));
  }
  const inWindow = polls
    .filter(({ atMs }) => atMs >= startMs && atMs < endMs)
    .toSorted((a, b) => a.atMs - b.atMs);
  return known(errorsOfPolls(inWindow, served, NEAR_MS), inWindow.length, depth.errorParts);
}

async function pollsOf(pacewatch: Pacewatch, upstream: number): Promise<readonly ToldPoll[]> {
  const { body } = await ask(`${pacewatch.url}/api/v1/upstreams/${nameOf(upstream)}`);
  const told = JSON.parse(body) as { upstream: { lastPolls: { atMs: number; durationMs: number }[] } };
  return told.upstream.lastPolls.map(({ atMs, durationMs }) => ({ upstream, atMs, durationMs }));
}

async function blackboxErrors(stage: Stage, manner: LoadQuestion["manner"], times = 1): Promise<Errors> {
  const { blackbox, load, clockUpstream, depth } = stage;
  const path = blackbox.probePath(clockUpstream.url());
  const question = { origin: blackbox.url, path, firstNumber: 0 };
  await load.ask({ ...question, manner: { kind: "rate", perSecond: PER_SECOND, seconds: 1 } });
  await clockUpstream.served();
  const errorsMs: number[] = [];
  let asked = 0;
  for (let time = 0; time < times; time++) {
    const { probed } = await load.ask({ ...question, manner });
    errorsMs.push(...errorsOfProbes(probed, await clockUpstream.served()));
    asked += probed.length;
  }
  return known(errorsMs, asked, depth.errorParts);
}

function known(errorsMs: readonly number[], measured: number, parts: number): Errors {
  if (errorsMs.length === 0 || errorsMs.length < measured * 0.95) {
    throw new Error(
      `cannot compare: the upstream's clock must know the polls, received ${errorsMs.length} of ${measured}`,
    );
  }
  return partsOf(errorsMs, parts);
}
