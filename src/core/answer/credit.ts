import { DAY_MS, HOUR_MS } from "../time/duration.ts";

/** When a credit runs out, by how fast it went down over the last hour, day and week. */

/** A value at one moment, and how much had been added to it until then. */
export type ValuePoint = {
  readonly atMs: number;
  readonly value: number;
  /** The sum of all refills since it was first seen. */
  readonly refilled: number;
};

export const BURN_WINDOWS = ["1h", "1d", "7d"] as const;
export type BurnWindow = (typeof BURN_WINDOWS)[number];

export const WINDOW_MS: Readonly<Record<BurnWindow, number>> = {
  "1h": HOUR_MS,
  "1d": DAY_MS,
  "7d": 7 * DAY_MS,
};
export const LONGEST_WINDOW_MS: number = WINDOW_MS["7d"];
/** Less of a window than this tells nothing about the rest of it. */
export const LEAST_OF_A_WINDOW = 0.5;
/** So much more of it counts too: polls once an hour are seldom within an hour of each other. */
const MOST_OF_A_WINDOW = 1.05;
/** Farther away, nobody needs to know when. */
const HORIZON_MS = 366 * DAY_MS;

export type Burn = {
  readonly window: BurnWindow;
  /** What is spent, refills left out; 0 if nothing is. Undefined while too little of the window is known. */
  readonly perSecond: number | undefined;
  /** Undefined if it is not in sight. */
  readonly emptyAtMs: number | undefined;
};

/** Our own quota, and those that answers tell, by how long their window is at least. */
export const QUOTAS = ["own", "1d", "7d", "30d"] as const;
export type QuotaName = (typeof QUOTAS)[number];

/** What is spent is told as a part of the quota: 0.5 is half of it. */
export type QuotaForecast = { readonly quota: QuotaName; readonly burns: readonly Burn[] };

/** `points` have the newest last. Empty without points. */
export function burnsOf(points: readonly ValuePoint[]): readonly Burn[] {
  const newest = points.at(-1);
  return newest === undefined ? [] : BURN_WINDOWS.map((window) => burnOver(window, points, newest));
}

function burnOver(window: BurnWindow, points: readonly ValuePoint[], newest: ValuePoint): Burn {
  const windowMs = WINDOW_MS[window];
  const first = points.find(({ atMs }) => newest.atMs - atMs <= windowMs * MOST_OF_A_WINDOW) ?? newest;
  const lengthMs = newest.atMs - first.atMs;
  const perMs =
    lengthMs < windowMs * LEAST_OF_A_WINDOW
      ? undefined
      : Math.max(0, first.value - newest.value + newest.refilled - first.refilled) / lengthMs;
  return {
    window,
    perSecond: perMs === undefined ? undefined : perMs * 1000,
    emptyAtMs: emptyAtMs(newest, perMs ?? 0),
  };
}

function emptyAtMs({ atMs, value }: ValuePoint, perMs: number): number | undefined {
  if (value <= 0) return atMs;
  const leftMs = value / perMs;
  return leftMs <= HORIZON_MS ? atMs + leftMs : undefined;
}

/** The one by which it is empty first. */
export function worstBurn(burns: readonly Burn[]): Burn | undefined {
  const inSight = burns.filter(({ emptyAtMs }) => emptyAtMs !== undefined);
  return inSight.toSorted((a, b) => (a.emptyAtMs ?? 0) - (b.emptyAtMs ?? 0))[0];
}
