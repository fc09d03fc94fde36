import { setTimeout as sleep } from "node:timers/promises";
import type { LoadQuestion } from "../load.ts";
import { totalOf } from "../counters.ts";
import { Pacewatch, type Scrape } from "../pacewatch.ts";
import type { Fleet } from "../pacewatch-config.ts";
import { cpuMs } from "../process-usage.ts";
import type { Stage } from "../stage.ts";

export type Spent = {
  readonly polls: number;
  readonly cpuMs: number;
  readonly elapsedMs: number;
  /** By the program's own word. */
  readonly notOk: number;
};

export function usPerPoll({ cpuMs, polls }: Spent): number {
  return (cpuMs * 1_000) / polls;
}

/** What a window cost, in which it was scraped once, at the end. */
export async function windowOf(pacewatch: Pacewatch, seconds: number): Promise<Spent> {
  const before = await pacewatch.scrape();
  const startMs = performance.now();
  const cpuBeforeMs = await cpuMs(pacewatch.pid);
  await sleep(seconds * 1_000);
  const after = await pacewatch.scrape();
  const cpuAfterMs = await cpuMs(pacewatch.pid);
  const elapsedMs = performance.now() - startMs;
  const grown = (holding: string): number => pollsIn(after, holding) - pollsIn(before, holding);
  const polls = grown("");
  return {
    polls,
    cpuMs: cpuAfterMs - cpuBeforeMs,
    elapsedMs,
    notOk: polls - grown('outcome="ok"'),
  };
}

export async function pacewatchSpends(fleet: Fleet, { depth }: Stage): Promise<Spent> {
  await using pacewatch = await Pacewatch.start(fleet);
  await sleep(depth.warmUpS * 1_000);
  return await windowOf(pacewatch, depth.windowS);
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

function pollsIn({ text }: Scrape, holding: string): number {
  return totalOf(text, "pacewatch_polls_total", holding);
}
