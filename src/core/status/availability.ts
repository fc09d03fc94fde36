/** Availability is ok / (ok + failed), as everywhere: in the metrics, the rules and the API. */

import { inThousands } from "../text/thousands.ts";
import { humanDuration } from "./humanize.ts";
import { SECOND_MS } from "../time/duration.ts";

type Counts = { readonly ok: number; readonly failed: number; readonly watchedMs: number };

export type AvailabilityWindow = Counts & {
  readonly windowMs: number;
  /** ok / (ok + failed); undefined if both are 0. */
  readonly ratio: number | undefined;
  /** So little of the window was watched that its ratio is that of another window. */
  readonly isEarly: boolean;
};

export const LEFT_OUT =
  "Of the polls that were ok or failed: being throttled or rejected, and our own faults, say nothing about the upstream.";

/** Of less than this share of a window, nothing is said against an objective. */
const LEAST_WATCHED = 0.1;
/** From this share on, a window counts as watched. Some slots are skipped or throttled. */
const WHOLLY_WATCHED = 0.9;

/** The first poll of a window may have watched what was before it too. */
export function availabilityOf(windowMs: number, counts: Counts): AvailabilityWindow {
  const { ok, failed } = counts;
  const watchedMs = Math.min(counts.watchedMs, windowMs);
  const decided = ok + failed;
  return {
    windowMs,
    ok,
    failed,
    watchedMs,
    ratio: decided === 0 ? undefined : ok / decided,
    isEarly: watchedMs < LEAST_WATCHED * windowMs,
  };
}

export type Verdict = "met" | "missed" | "early" | "unknown";

/** Against the objective. The same everywhere: while little was watched, there is a number, and no verdict. */
export function verdictOnAvailability({ ratio, isEarly }: AvailabilityWindow, objective: number): Verdict {
  if (ratio === undefined) return "unknown";
  if (isEarly) return "early";
  return ratio >= objective ? "met" : "missed";
}

/** The share of ok polls that must be within the latency objective. */
export const WITHIN_LATENCY_SHARE = 0.95;

export type Missed = "availability" | "latency";

/** `withinObjective`: so many of the ok polls were fast enough. */
export function missedIn(
  window: AvailabilityWindow,
  withinObjective: number,
  objective: number,
): readonly Missed[] {
  const isSlow = !window.isEarly && withinObjective < WITHIN_LATENCY_SHARE * window.ok;
  return [
    ...(verdictOnAvailability(window, objective) === "missed" ? (["availability"] as const) : []),
    ...(isSlow ? (["latency"] as const) : []),
  ];
}

/** Follows the ratio: `of 10 min`. Empty where the window was watched. */
export function watchedWords({ ok, failed, watchedMs, windowMs }: AvailabilityWindow): string {
  if (watchedMs >= WHOLLY_WATCHED * windowMs) return "";
  if (watchedMs >= SECOND_MS) return `of ${humanDuration(watchedMs)}`;
  return ok + failed === 1 ? "of 1 poll" : `of ${inThousands(ok + failed)} polls`;
}

/** `2 of 40 failed` */
export function failedWords({ ok, failed }: AvailabilityWindow): string {
  if (ok + failed === 0) return "no polls to judge by";
  return `${failed === 0 ? "none" : inThousands(failed)} of ${inThousands(ok + failed)} failed`;
}
