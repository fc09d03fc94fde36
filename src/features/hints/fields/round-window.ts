import { SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS } from "../../../kernel/time/duration.ts";

/** People choose round windows: so an exact one can be told from one that was measured. */

const ROUND_WINDOWS_MS: readonly number[] = [
  ...[1, 2, 3, 5, 10, 15, 20, 30].map((seconds) => seconds * SECOND_MS),
  ...[1, 2, 3, 5, 10, 15, 20, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 4, 5, 6, 8, 12].map((hours) => hours * HOUR_MS),
  ...[1, 7, 30].map((days) => days * DAY_MS),
];

/** Two bounds tell a window only if exactly one round window is between them. */
export function onlyRoundWindowMs(leastMs: number, mostMs: number): number | undefined {
  const [first, ...others] = ROUND_WINDOWS_MS.filter((windowMs) => windowMs >= leastMs && windowMs <= mostMs);
  return others.length > 0 ? undefined : first;
}

export function roundWindowMs(exactMs: number): number | undefined {
  return onlyRoundWindowMs(exactMs, exactMs);
}
