/** Availability is ok / (ok + failed), as everywhere: in the metrics, the rules and the API. */

import { inThousands } from "../text/thousands.ts";
import { humanDuration } from "./humanize.ts";
import type { Objective } from "../config/config.ts";

export type AvailabilityWindow = {
  readonly windowMs: number;
  readonly ok: number;
  readonly failed: number;
  /** ok / (ok + failed); undefined if both are 0. */
  readonly ratio: number | undefined;
};

/** So many polls of an upstream are in memory: fewer are all that there were. */
export const POLLS_KEPT = 60;

type Watched = {
  readonly objective: Pick<Objective, "availability">;
  readonly usualGapMs: number;
  readonly lastPolls: readonly { readonly atMs: number }[];
};

export const LEFT_OUT =
  "Of the polls that were ok or failed: being throttled or rejected, and our own faults, say nothing about the upstream.";

export function availabilityOf(windowMs: number, ok: number, failed: number): AvailabilityWindow {
  const decided = ok + failed;
  return { windowMs, ok, failed, ratio: decided === 0 ? undefined : ok / decided };
}

/** Of less than this share of a window, its availability is not told: it would be that of another window. */
const LEAST_WATCHED = 0.1;
/** From this share on, a window counts as watched. Some slots are skipped or throttled. */
const WHOLLY_WATCHED = 0.9;

export type JudgedAvailability = {
  /** Against the objective. */
  readonly verdict: "met" | "missed" | "unknown";
  /** Follows the verdict: `2 of 4 failed, in 30 s watched`. */
  readonly counts: string;
};

export function judgeAvailability(
  window: AvailabilityWindow,
  upstream: Watched,
  nowMs: number,
): JudgedAvailability {
  const { windowMs, ok, failed, ratio } = window;
  if (ratio === undefined) return { verdict: "unknown", counts: "no polls to judge by" };
  const watched = watchedMs(window, upstream, nowMs);
  const some = `${failed === 0 ? "none" : inThousands(failed)} of ${inThousands(ok + failed)} failed`;
  const counts = watched < WHOLLY_WATCHED * windowMs ? `${some}, in ${humanDuration(watched)} watched` : some;
  if (watched < LEAST_WATCHED * windowMs) return { verdict: "unknown", counts: `too early: ${counts}` };
  return { verdict: ratio >= upstream.objective.availability ? "met" : "missed", counts };
}

/** A usual gap for each poll that counts; no more than since the first, where all are still kept. */
function watchedMs(
  { ok, failed }: AvailabilityWindow,
  { lastPolls, usualGapMs }: Watched,
  nowMs: number,
): number {
  const polls = ok + failed;
  const areAllKept = polls <= lastPolls.length && lastPolls.length < POLLS_KEPT;
  const oldest = areAllKept ? lastPolls.at(0) : undefined;
  return Math.min(polls * usualGapMs, oldest === undefined ? Infinity : nowMs - oldest.atMs);
}
