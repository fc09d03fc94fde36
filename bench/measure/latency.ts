import { setTimeout as sleep } from "node:timers/promises";
import { ask } from "../../test/support/http-ask.ts";
import { ratioOf, type Figure } from "../figure.ts";
import { Pacewatch } from "../pacewatch.ts";
import { nameOf, type Fleet } from "../pacewatch-config.ts";
import type { LoadQuestion } from "../load.ts";
import type { Stage } from "../stage.ts";
import { quantile } from "../statistics.ts";
import { errorsOfPolls, errorsOfProbes, type ToldPoll } from "./errors.ts";

const PER_SECOND = 200;
const BURST_GAP_S = 2;
/** Of the upstreams of a large fleet, as many are asked what they measured: asking costs time. */
const MOST_ASKED = 250;

type Error = { readonly p50: number; readonly p99: number };
type Kind = "idle" | "scraped" | "burst";
type Round = Readonly<Record<Kind | "theirIdle" | "theirBurst", Error>>;

const KINDS: Readonly<Record<Kind, string>> = {
  idle: `${PER_SECOND} a second`,
  scraped: `${PER_SECOND} a second, 1,000 upstreams scraped in a loop`,
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
  return Object.entries(KINDS).flatMap(([kind, says]) =>
    (["p50", "p99"] as const).map((part) =>
      ratioOf(`error-${kind}-${part}`, `latency error ${part}, ${says}`, "ms", {
        ours: rounds.map((round) => round[kind as Kind][part]),
        theirs: rounds.map((round) => round[kind === "burst" ? "theirBurst" : "theirIdle"][part]),
      }),
    ),
  );
}

async function oneRound(stage: Stage, told: (what: string) => void): Promise<Round> {
  const { errorWindowS, bursts } = stage.depth;
  told("Pacewatch");
  const idle = await pacewatchErs(stage, PER_SECOND, { every: "1s" }, errorWindowS);
  told("blackbox_exporter");
  const theirIdle = await blackboxErs(stage, {
    kind: "rate",
    perSecond: PER_SECOND,
    seconds: errorWindowS,
  });
  told("Pacewatch, scraped in a loop");
  const scraped = await pacewatchErs(stage, 1_000, { every: "5s" }, Math.max(5, errorWindowS), true);
  told("Pacewatch, one schedule");
  const cron = { cron: `*/${BURST_GAP_S} * * * * *` };
  const burst = await pacewatchErs(stage, PER_SECOND, cron, BURST_GAP_S * bursts);
  told("blackbox_exporter, at once");
  const theirBurst = await blackboxErs(stage, { kind: "burst", count: PER_SECOND });
  return { idle, theirIdle, scraped, burst, theirBurst };
}

async function pacewatchErs(
  { depth, clockUpstream }: Stage,
  upstreams: number,
  schedule: Fleet["schedule"],
  seconds: number,
  isScraped = false,
): Promise<Error> {
  const baseUrl = (number: number): string => `${clockUpstream.url}/u${number}`;
  await using pacewatch = await Pacewatch.start({ upstreams, schedule, baseUrl, connection: "fresh" });
  await sleep(depth.warmUpS * 1_000);
  const startMs = performance.timeOrigin + performance.now();
  const endMs = startMs + seconds * 1_000;
  const now = (): number => performance.timeOrigin + performance.now();
  while (isScraped && now() < endMs) await pacewatch.scrape();
  await sleep(Math.max(0, endMs - now()));
  // Those that the end found in flight are over after this.
  await sleep(200);
  const served = await clockUpstream.served();
  const step = Math.max(1, Math.floor(upstreams / MOST_ASKED));
  const polls: ToldPoll[] = [];
  for (let upstream = 0; upstream < upstreams; upstream += step) {
    polls.push(...(await pollsOf(pacewatch, upstream)));
  }
  const inWindow = polls.filter(({ atMs }) => atMs >= startMs && atMs < endMs);
  return errorOf(errorsOfPolls(inWindow, served, 400), inWindow.length);
}

async function pollsOf(pacewatch: Pacewatch, upstream: number): Promise<readonly ToldPoll[]> {
  const { body } = await ask(`${pacewatch.url}/api/v1/upstreams/${nameOf(upstream)}`);
  const told = JSON.parse(body) as { upstream: { lastPolls: { atMs: number; durationMs: number }[] } };
  return told.upstream.lastPolls.map(({ atMs, durationMs }) => ({ upstream, atMs, durationMs }));
}

async function blackboxErs(stage: Stage, manner: LoadQuestion["manner"]): Promise<Error> {
  const { blackbox, load, clockUpstream } = stage;
  const path = blackbox.probePath(clockUpstream.url);
  const question = { origin: blackbox.url, path, firstNumber: 0 };
  await load.ask({ ...question, manner: { kind: "rate", perSecond: PER_SECOND, seconds: 1 } });
  await clockUpstream.served();
  const { probed } = await load.ask({ ...question, manner });
  return errorOf(errorsOfProbes(probed, await clockUpstream.served()), probed.length);
}

function errorOf(errorsMs: readonly number[], measured: number): Error {
  if (errorsMs.length === 0 || errorsMs.length < measured * 0.95) {
    throw new Error(
      `cannot compare: the upstream's clock must know the polls, received ${errorsMs.length} of ${measured}`,
    );
  }
  return { p50: quantile(errorsMs, 0.5), p99: quantile(errorsMs, 0.99) };
}
