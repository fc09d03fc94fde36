import { LONGEST_WINDOW_MS } from "../answer/credit.ts";
import { MINUTE_MS, HOUR_MS, DAY_MS } from "../time/duration.ts";

const YEAR_MS = 366 * DAY_MS;

/** The state file forgets what is older: polls and incidents by time, roll-ups and quotas by bucket. */
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
