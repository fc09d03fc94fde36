import { SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS } from "../time/duration.ts";

/** The windows that people choose. */

const ROUND_WINDOWS_MS: readonly number[] = [
  ...[1, 2, 3, 5, 10, 15, 20, 30].map((seconds) => seconds * SECOND_MS),
  ...[1, 2, 3, 5, 10, 15, 20, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 4, 5, 6, 8, 12].map((hours) => hours * HOUR_MS),
  ...[1, 7, 30].map((days) => days * DAY_MS),
];

/** The one round window between the two, if there is exactly one. */
export function onlyRoundWindowMs(leastMs: number, mostMs: number): number | undefined {
  const [first, ...others] = ROUND_WINDOWS_MS.filter((windowMs) => windowMs >= leastMs && windowMs <= mostMs);
  return others.length > 0 ? undefined : first;
}

export function roundWindowMs(exactMs: number): number | undefined {
  return onlyRoundWindowMs(exactMs, exactMs);
}
