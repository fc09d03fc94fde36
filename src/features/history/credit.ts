import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../kernel/time/duration.ts";

/** A credit runs out as fast as it went down over the last hour, day and week. */

/** A credit has a value at each moment, and something may have been added to it until then. */
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
/** A smaller part of a window than this tells nothing about the rest of it. */
export const LEAST_OF_A_WINDOW = 0.5;
/** Points that are a little older count too: polls once an hour are seldom within an hour of each other. */
const MOST_OF_A_WINDOW = 1.05;
/** An end within this time is told to people. */
export const ENDS_SOON_MS: number = 3 * DAY_MS;
/** Nobody needs to know of an end that is farther away. */
const HORIZON_MS = 366 * DAY_MS;

export type Burn = {
  readonly window: BurnWindow;
  /** So much is spent, refills left out; 0 if nothing is. Undefined while too little of the window is known. */
  readonly perSecond: number | undefined;
  /** The end is undefined while it is not in sight. */
  readonly emptyAtMs: number | undefined;
};

/** `points` have the newest last, which held until `seenAtMs`. Without points nothing is known. */
export function burnsOf(points: readonly ValuePoint[], seenAtMs?: number): readonly Burn[] {
  const newest = points.at(-1);
  if (newest === undefined) return [];
  return BURN_WINDOWS.map((window) => burnOver(window, points, newest, seenAtMs ?? newest.atMs));
}

function burnOver(
  window: BurnWindow,
  points: readonly ValuePoint[],
  newest: ValuePoint,
  seenAtMs: number,
): Burn {
  const windowMs = WINDOW_MS[window];
  const first = points.find(({ atMs }) => newest.atMs - atMs <= windowMs * MOST_OF_A_WINDOW) ?? newest;
  const lengthMs = newest.atMs - first.atMs;
  const perMs =
    lengthMs < windowMs * LEAST_OF_A_WINDOW
      ? undefined
      : Math.max(0, middleSlope(points.slice(points.indexOf(first))));
  return {
    window,
    perSecond: perMs === undefined ? undefined : perMs * 1000,
    emptyAtMs: emptyAtMs(points.slice(-MOST_AT_THE_END), perMs ?? 0, seenAtMs),
  };
}

/** The first points may be of a start, when not all servers had answered: so more of them. */
const MOST_AT_THE_START = 7;
const MOST_AT_THE_END = 3;

/**
 * How fast was spent between the first and the last points of a window. The answers of several servers, of which some lag
 * behind, differ by more than what was spent, and any one pair of points may be of two of them: so the middle of all pairs
 * tells about how fast it is, and by that the lower half of the points is found, which lags least.
 */
function middleSlope(points: readonly ValuePoint[]): number {
  const starts = points.slice(0, Math.min(MOST_AT_THE_START, Math.max(1, points.length >> 1)));
  const ends = points.slice(-Math.min(MOST_AT_THE_END, Math.ceil(points.length / 3)));
  const about = middleOf(slopes(starts, ends));
  return middleOf(slopes(lowerHalf(starts, about), lowerHalf(ends, about)));
}

function slopes(starts: readonly ValuePoint[], ends: readonly ValuePoint[]): readonly number[] {
  return starts.flatMap((from) => ends.map((to) => (spent(to) - spent(from)) / (to.atMs - from.atMs)));
}

function middleOf(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[(numbers.length - 1) >> 1] ?? 0;
}

function lowerHalf(points: readonly ValuePoint[], perMs: number): readonly ValuePoint[] {
  const ahead = (point: ValuePoint): number => spent(point) - perMs * point.atMs;
  return points.toSorted((a, b) => ahead(b) - ahead(a)).slice(0, Math.ceil(points.length / 2));
}

function spent({ value, refilled }: ValuePoint): number {
  return refilled - value;
}

const LAST_POINTS_MS = 15 * MINUTE_MS;

/** The earliest that the last points tell: a server that lags behind would tell a later one. */
function emptyAtMs(points: readonly ValuePoint[], perMs: number, seenAtMs: number): number | undefined {
  const newest = points.at(-1);
  if (newest === undefined) return undefined;
  if (newest.value <= 0) return seenAtMs;
  const ends = points
    .filter(({ atMs, value }) => value > 0 && newest.atMs - atMs <= LAST_POINTS_MS)
    .map(({ atMs, value, refilled }) => atMs + (value + newest.refilled - refilled) / perMs);
  const endMs = Math.max(seenAtMs, Math.min(...ends));
  return endMs - seenAtMs <= HORIZON_MS ? endMs : undefined;
}

/** The burn that empties it first is the worst. */
export function worstBurn(burns: readonly Burn[]): Burn | undefined {
  const inSight = burns.filter(({ emptyAtMs }) => emptyAtMs !== undefined);
  return inSight.toSorted((a, b) => (a.emptyAtMs ?? 0) - (b.emptyAtMs ?? 0))[0];
}
