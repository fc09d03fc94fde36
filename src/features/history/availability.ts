/** Availability is the part of the watched time that was ok, as everywhere: in the metrics, the rules and the API. */

import { humanDuration } from "../../platform/humanize.ts";

type Watched = {
  readonly watchedMs: number;
  /** The part of it that failed polls watched. */
  readonly failedMs: number;
};

export type AvailabilityWindow = Watched & {
  readonly windowMs: number;
  /** Undefined if nothing was watched. */
  readonly ratio: number | undefined;
  /** So little of the window was watched that its ratio is that of another window. */
  readonly isEarly: boolean;
};

export const LEFT_OUT =
  "Of the time that ok and failed polls watched: being throttled or rejected, and our own faults, say nothing about the upstream.";

/** Of less than this share of a window, nothing is said against an objective. */
const LEAST_WATCHED = 0.1;
/** From this share on, a window counts as watched. Some slots are skipped or throttled. */
const WHOLLY_WATCHED = 0.9;

/** The first poll of a window may have watched what was before it too. */
export function availabilityOf(windowMs: number, watched: Watched): AvailabilityWindow {
  const watchedMs = Math.min(watched.watchedMs, windowMs);
  return {
    windowMs,
    watchedMs,
    failedMs: Math.min(watched.failedMs, windowMs),
    ratio: watchedMs === 0 ? undefined : (watched.watchedMs - watched.failedMs) / watched.watchedMs,
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
  { ok, withinObjective }: { readonly ok: number; readonly withinObjective: number },
  objective: number,
): readonly Missed[] {
  const isSlow = !window.isEarly && withinObjective < WITHIN_LATENCY_SHARE * ok;
  return [
    ...(verdictOnAvailability(window, objective) === "missed" ? (["availability"] as const) : []),
    ...(isSlow ? (["latency"] as const) : []),
  ];
}

/** Follows the ratio: `of 10 min`. Empty where the window was watched. */
export function watchedWords({ watchedMs, windowMs }: AvailabilityWindow): string {
  return watchedMs >= WHOLLY_WATCHED * windowMs ? "" : `of ${humanDuration(watchedMs)}`;
}

/** `failed for 20 min` */
export function failedWords({ watchedMs, failedMs }: AvailabilityWindow): string {
  if (watchedMs === 0) return "not watched";
  return failedMs === 0 ? "all of it ok" : `failed for ${humanDuration(failedMs)}`;
}
