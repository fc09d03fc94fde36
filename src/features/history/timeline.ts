/** What was seen of an upstream over a range of time, in columns of one length: what the plots draw. */

import { type Outcome, OUTCOMES } from "../../kernel/exchange/reasons.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../kernel/time/duration.ts";

export type Range = {
  readonly name: string;
  /** For people. */
  readonly words: string;
  readonly lengthMs: number;
  readonly columnMs: number;
};

export const LAST_HOUR: Range = { name: "1h", words: "1 h", lengthMs: HOUR_MS, columnMs: MINUTE_MS };
export const RANGES: readonly Range[] = [
  LAST_HOUR,
  { name: "24h", words: "24 h", lengthMs: DAY_MS, columnMs: 10 * MINUTE_MS },
  { name: "7d", words: "7 d", lengthMs: 7 * DAY_MS, columnMs: HOUR_MS },
  { name: "30d", words: "30 d", lengthMs: 30 * DAY_MS, columnMs: 4 * HOUR_MS },
];

/** A day each: longer than what is in memory. */
export const CALENDAR: Range = { name: "90d", words: "90 d", lengthMs: 90 * DAY_MS, columnMs: DAY_MS };

/** Its last column is the present one, and may have just begun. All upstreams have the same at the same moment. */
export function spanOf({ lengthMs, columnMs }: Range, nowMs: number): { fromMs: number; toMs: number } {
  const toMs = (Math.floor(nowMs / columnMs) + 1) * columnMs;
  return { fromMs: toMs - lengthMs, toMs };
}

export type Column = {
  /** Counts columns of this length since 1970. */
  readonly index: number;
  readonly counts: Readonly<Record<Outcome, number>>;
  /** The time that its polls watched: as they end in it, a column may have more of it than it is long. */
  readonly watchedMs: number;
  /** The part of it that failed polls watched. */
  readonly failedMs: number;
  /** Of the ok polls; undefined if there was none. */
  readonly latency:
    | { readonly middleMs: number; readonly highMs: number; readonly longestMs: number }
    | undefined;
};

export type Columns = {
  readonly columnMs: number;
  /** Those with a poll, the newest last. */
  readonly columns: readonly Column[];
  /** Whether `middleMs` and `highMs` are p50 and p95. Otherwise they are the mean and the longest. */
  readonly areQuantiles: boolean;
};

/** Where single polls are known. */
export type PollOfColumn = {
  readonly endedAtMs: number;
  readonly outcome: Outcome;
  readonly durationMs: number;
  readonly watchedMs: number;
};

export function columnsOfPolls(polls: Iterable<PollOfColumn>, columnMs: number): readonly Column[] {
  const byIndex = new Map<
    number,
    { counts: Record<Outcome, number>; okMs: number[]; watchedMs: number; failedMs: number }
  >();
  for (const { endedAtMs, outcome, durationMs, watchedMs } of polls) {
    const index = Math.floor(endedAtMs / columnMs);
    const column = byIndex.get(index) ?? { counts: noCounts(), okMs: [], watchedMs: 0, failedMs: 0 };
    byIndex.set(index, column);
    column.counts[outcome] += 1;
    column.watchedMs += watchedMs;
    if (outcome === "failed") column.failedMs += watchedMs;
    if (outcome === "ok") column.okMs.push(durationMs);
  }
  return [...byIndex]
    .sort(([one], [other]) => one - other)
    .map(([index, { counts, okMs, watchedMs, failedMs }]) => {
      const quantiles = latencyQuantiles(okMs);
      const latency = quantiles && {
        middleMs: quantiles.p50Ms,
        highMs: quantiles.p95Ms,
        longestMs: Math.max(...okMs),
      };
      return { index, counts, watchedMs, failedMs, latency };
    });
}

/** Polls of a minute or an hour. `index` counts such buckets since the epoch. */
export type CountedBucket = Readonly<Record<Outcome, number>> & {
  readonly index: number;
  /** Of all ok polls together, and of the longest. */
  readonly okMs: number;
  readonly longestMs: number;
  readonly watchedMs: number;
  readonly failedMs: number;
  readonly withinObjective: number;
};

/** So many buckets become one column. Latencies are means and the longest. */
export function columnsOfBuckets(buckets: readonly CountedBucket[], times: number): readonly Column[] {
  const groups = Map.groupBy(buckets, ({ index }) => Math.floor(index / Math.max(1, times)));
  return [...groups].map(([index, merged]) => {
    const counts = noCounts();
    let [okMs, longestMs, watchedMs, failedMs] = [0, 0, 0, 0];
    for (const bucket of merged) {
      for (const outcome of OUTCOMES) counts[outcome] += bucket[outcome];
      okMs += bucket.okMs;
      watchedMs += bucket.watchedMs;
      failedMs += bucket.failedMs;
      longestMs = Math.max(longestMs, bucket.longestMs);
    }
    const latency =
      counts.ok === 0 ? undefined : { middleMs: okMs / counts.ok, highMs: longestMs, longestMs };
    return { index, counts, watchedMs, failedMs, latency };
  });
}

function noCounts(): Record<Outcome, number> {
  return { ok: 0, failed: 0, throttled: 0, rejected: 0, ours: 0 };
}

export type LatencyQuantiles = {
  /** How many polls were counted. */
  readonly polls: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
};

/** By nearest rank: each quantile is a measured duration. */
export function latencyQuantiles(durationsMs: readonly number[]): LatencyQuantiles | undefined {
  const sorted = [...durationsMs].sort((a, b) => a - b);
  const longestMs = sorted.at(-1);
  if (longestMs === undefined) return undefined;
  const at = (quantile: number): number => sorted[Math.ceil(quantile * sorted.length) - 1] ?? longestMs;
  return { polls: sorted.length, p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) };
}
