import { setTimeout as sleep } from "node:timers/promises";
import {
  parseExposition,
  sumOfSamples,
  type Families,
} from "../../test/support/metrics/exposition-parser.ts";
import { ask } from "../../test/support/http-ask.ts";
import { openAccounts } from "../../test/support/metrics/slot-accounts.ts";
import { accountsIn, residentsOf, total, type Accounts } from "./accounts.ts";
import type { SoakedProcess } from "./process.ts";
import type { Look } from "./trend.ts";

/** What was seen at one scrape. */
export type Sight = {
  readonly atMs: number;
  /** Of those who stay for the whole soak. */
  readonly polls: number;
  readonly skipped: number;
  readonly heapBytes: number;
  readonly residentBytes: number;
  /** The means of the looks since the last sight: they come and go with the polls. */
  readonly openFiles: number;
  readonly activeResources: number;
  readonly series: number;
  readonly scrapeBytes: number;
  readonly scrapeMs: number;
  readonly accounts: Accounts;
  readonly unbalanced: readonly string[];
};

export type Scrape = {
  readonly families: Families;
  readonly accounts: Accounts;
  readonly bytes: number;
  readonly tookMs: number;
};

const LOOK_EVERY_MS = 250;

export async function scrape(url: string): Promise<Scrape> {
  const startedMs = performance.now();
  const text = (await ask(`${url}/metrics`)).body;
  const tookMs = performance.now() - startedMs;
  const families = parseExposition(text);
  const list = JSON.parse((await ask(`${url}/api/v1/upstreams`)).body);
  return { families, accounts: accountsIn(list, families), bytes: Buffer.byteLength(text), tookMs };
}

/** Looks at it until that time, and then takes the long look. */
export async function watchUntil(soaked: SoakedProcess, untilMs: number): Promise<Sight> {
  const openFiles: number[] = [];
  const activeResources: number[] = [];
  do {
    openFiles.push(await soaked.openFiles());
    activeResources.push(await soaked.activeResources());
    await sleep(Math.min(LOOK_EVERY_MS, Math.max(1, untilMs - performance.now())));
  } while (performance.now() < untilMs);
  const { families, accounts, bytes, tookMs } = await scrape(await soaked.url);
  const residents = residentsOf(accounts);
  return {
    atMs: performance.now(),
    polls: total(residents, "polls"),
    skipped: total(residents, "skipped"),
    heapBytes: await soaked.heapBytes(),
    residentBytes: await soaked.residentBytes(),
    openFiles: average(openFiles),
    activeResources: average(activeResources),
    series: [...families.values()].reduce((sum, { samples }) => sum + samples.length, 0),
    scrapeBytes: bytes,
    scrapeMs: tookMs,
    accounts: residents,
    unbalanced: openAccounts(families).map(({ upstream }) => upstream),
  };
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export type Measure =
  | "heapBytes"
  | "residentBytes"
  | "openFiles"
  | "activeResources"
  | "series"
  | "scrapeBytes";

export function looksOf(sights: readonly Sight[], measure: Measure): readonly Look[] {
  return sights.map((sight) => ({ atMs: sight.atMs, value: sight[measure] }));
}

/** Polls by outcome and reason, and skipped slots by cause: only those that came to be. */
export function countsIn(families: Families): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const count = (name: string, labels: readonly string[], prefix: string): void => {
    for (const sample of families.get(name)?.samples ?? []) {
      const key = [prefix, ...labels.map((label) => sample.labels[label] ?? "")].join(" ").trim();
      counts.set(key, (counts.get(key) ?? 0) + sample.value);
    }
  };
  counts.set("ok", sumOfSamples(families, "pacewatch_polls_total", { outcome: "ok" }));
  count("pacewatch_poll_reasons_total", ["outcome", "reason"], "");
  count("pacewatch_polls_skipped_total", ["cause"], "skipped");
  return new Map([...counts].filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1]));
}

/** From its slot to its sending, on average. */
export function meanDelayMs(families: Families): number {
  const name = "pacewatch_poll_delay_seconds";
  return (1_000 * sumOfSamples(families, `${name}_sum`)) / sumOfSamples(families, `${name}_count`);
}

/** Of one core, over all of its life. */
export function cpuShare(families: Families): number {
  const bornAtMs = sumOfSamples(families, "process_start_time_seconds") * 1_000;
  const cpuSeconds = sumOfSamples(families, "process_cpu_seconds_total");
  return (1_000 * cpuSeconds) / (Date.now() - bornAtMs);
}
