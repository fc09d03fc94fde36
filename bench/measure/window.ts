import { setTimeout as sleep } from "node:timers/promises";
import type { LoadQuestion } from "../programs/load.ts";
import { totalOf } from "../programs/counters.ts";
import { Pacewatch } from "../programs/pacewatch.ts";
import type { Fleet } from "../programs/pacewatch-config.ts";
import { cpuMs } from "../programs/process-usage.ts";
import type { Stage } from "../stage.ts";

export type Spent = {
  readonly polls: number;
  readonly cpuMs: number;
  readonly elapsedMs: number;
  /** By the program's own word, where it was asked. */
  readonly notOk: number;
};

export function usPerPoll({ cpuMs, polls }: Spent): number {
  return (cpuMs * 1_000) / polls;
}

/** What a window cost, by the upstream's count: who is saturated need not find the time to count for us. */
export async function windowOf(
  { nginx, note }: Stage,
  pacewatch: Pacewatch,
  seconds: number,
  isScraped: boolean,
): Promise<Spent> {
  const countBefore = await nginx.requests();
  const startMs = performance.now();
  const cpuBeforeMs = await cpuMs(pacewatch.pid);
  const scrape = isScraped ? pacewatch.scrape().catch(() => undefined) : undefined;
  await sleep(seconds * 1_000);
  const cpuAfterMs = await cpuMs(pacewatch.pid);
  const polls = (await nginx.requests()) - countBefore;
  const elapsedMs = performance.now() - startMs;
  const text = (await scrape)?.text;
  if (isScraped && text === undefined) note("a scrape was not answered, the machine was too busy");
  return { polls, cpuMs: cpuAfterMs - cpuBeforeMs, elapsedMs, notOk: text === undefined ? 0 : notOkIn(text) };
}

export async function pacewatchSpends(
  fleet: Fleet,
  stage: Stage,
  manner: "scraped" | { readonly afterS: number },
): Promise<Spent> {
  await using pacewatch = await Pacewatch.start(fleet);
  const { warmUpS, windowS } = stage.depth;
  await sleep((manner === "scraped" ? warmUpS : warmUpS + manner.afterS) * 1_000);
  // The first one starts a thread, and is followed by many in any life but this.
  if (manner === "scraped") await pacewatch.scrape();
  return await windowOf(stage, pacewatch, windowS, manner === "scraped");
}

/** The exporter is told by whom it is asked, so its warm-up is a load that nobody looks at. */
export async function blackboxSpends(
  { blackbox, load, depth }: Stage,
  target: string,
  manner: { readonly perSecond: number } | { readonly atOnce: number },
): Promise<Spent> {
  const ask = (seconds: number): LoadQuestion => ({
    origin: blackbox.url,
    path: blackbox.probePath(target),
    firstNumber: 0,
    manner:
      "atOnce" in manner ? { kind: "saturate", ...manner, seconds } : { kind: "rate", ...manner, seconds },
  });
  await load.ask(ask(depth.warmUpS / 2));
  const startMs = performance.now();
  const cpuBeforeMs = await cpuMs(blackbox.pid);
  const { probed, failed } = await load.ask(ask(depth.windowS));
  const cpuAfterMs = await cpuMs(blackbox.pid);
  return {
    polls: probed.length + failed,
    cpuMs: cpuAfterMs - cpuBeforeMs,
    elapsedMs: performance.now() - startMs,
    notOk: failed,
  };
}

function notOkIn(text: string): number {
  const metric = "pacewatch_polls_total";
  return totalOf(text, metric) - totalOf(text, metric, 'outcome="ok"');
}
