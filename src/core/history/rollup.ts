/** Sums that remain of polls which are too old to be kept one by one. */

import { LONGEST_WINDOW_MS } from "../answer/credit.ts";
import type { SavedPoll } from "./state.ts";
import { rowOf } from "../exchange/reasons.ts";
import type { PollStatus } from "../status/status.ts";
import { MINUTE_MS, HOUR_MS, DAY_MS } from "../time/duration.ts";

const YEAR_MS = 366 * DAY_MS;

/** Everything of one upstream in one minute or hour, counted by when it ended. */
export type RollUp = {
  readonly upstream: string;
  /** Minutes or hours since the epoch. */
  readonly bucket: number;
  readonly polls: number;
  readonly ok: number;
  /** Only failures that count for availability. */
  readonly failed: number;
  readonly throttled: number;
  readonly withinObjective: number;
  readonly okDurationMs: number;
  readonly slowestOkMs: number;
};

/** Our own bugs and network, keys that are rejected or cannot be had, and throttling say nothing about the availability of an upstream. */
export function availabilityVote({
  outcome,
  reason,
  offline,
}: Pick<PollStatus, "outcome" | "reason" | "offline">): "ok" | "failed" | undefined {
  if (outcome === "ok") return "ok";
  const isTheirs = (rowOf(reason)?.group ?? outcome) === "failed" && offline !== true;
  return isTheirs ? "failed" : undefined;
}

export function rollUp(polls: readonly SavedPoll[], bucketMs: number): readonly RollUp[] {
  const byKey = new Map<string, RollUp>();
  for (const poll of polls) {
    const bucket = Math.floor(poll.endedAtMs / bucketMs);
    const key = `${bucket} ${poll.upstream}`;
    byKey.set(key, plus(byKey.get(key) ?? nothing(poll.upstream, bucket), poll));
  }
  return [...byKey.values()];
}

function nothing(upstream: string, bucket: number): RollUp {
  return {
    upstream,
    bucket,
    polls: 0,
    ok: 0,
    failed: 0,
    throttled: 0,
    withinObjective: 0,
    okDurationMs: 0,
    slowestOkMs: 0,
  };
}

function plus(sum: RollUp, { status, withinObjective }: SavedPoll): RollUp {
  const vote = availabilityVote(status);
  const okMs = vote === "ok" ? status.durationMs : 0;
  return {
    ...sum,
    polls: sum.polls + 1,
    ok: sum.ok + (vote === "ok" ? 1 : 0),
    failed: sum.failed + (vote === "failed" ? 1 : 0),
    throttled: sum.throttled + (status.outcome === "throttled" ? 1 : 0),
    withinObjective: sum.withinObjective + (withinObjective ? 1 : 0),
    okDurationMs: sum.okDurationMs + okMs,
    slowestOkMs: Math.max(sum.slowestOkMs, okMs),
  };
}

/** Anything older is deleted. Polls and incidents by time, roll-ups and quotas by bucket. */
export type Retention = {
  readonly pollsFromMs: number;
  /** The newest polls and failures of an upstream outlive a day, but not this. */
  readonly newestFromMs: number;
  readonly minutesFrom: number;
  readonly hoursFrom: number;
  readonly incidentsFromMs: number;
  readonly quotaHoursFrom: number;
  readonly valueHoursFrom: number;
};

export function retentionAt(nowMs: number): Retention {
  return {
    pollsFromMs: nowMs - DAY_MS,
    newestFromMs: nowMs - YEAR_MS,
    minutesFrom: Math.floor((nowMs - 30 * DAY_MS) / MINUTE_MS),
    hoursFrom: Math.floor((nowMs - YEAR_MS) / HOUR_MS),
    incidentsFromMs: nowMs - YEAR_MS,
    // The longest period of a quota, and the hour in which it begins.
    quotaHoursFrom: Math.floor((nowMs - YEAR_MS) / HOUR_MS) - 1,
    valueHoursFrom: Math.floor((nowMs - LONGEST_WINDOW_MS) / HOUR_MS) - 1,
  };
}
