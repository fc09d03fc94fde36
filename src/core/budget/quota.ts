import { HOUR_MS } from "../time/duration.ts";

/** The long quota of one budget: rolling, in hour buckets, so that it fits into the state file. */

export const QUOTA_BUCKET_MS: number = HOUR_MS;

/** A budget without a quota counts too, in case it gets one, but not for ever. */
const MOST_HOURS = 366 * 24;

export type QuotaBuckets = ReadonlyMap<number, number>;

export class QuotaCount {
  /** Requests by hour since the epoch. */
  #byHour: Map<number, number>;
  /** Those of them that this process sent. */
  readonly #ownByHour = new Map<number, number>();
  /** Hours that were left when the calendar was set. They stay, perhaps at 0: the state file must hear of that. */
  readonly #leftHours = new Set<number>();

  constructor(byHour: QuotaBuckets = new Map()) {
    this.#byHour = new Map(byHour);
  }

  /** `amount` is -1 if a request turned out to be unsent. */
  add(atMs: number, amount: number): void {
    const hour = Math.floor(atMs / QUOTA_BUCKET_MS);
    if (!this.#byHour.has(hour)) this.#dropOlderThan(hour - MOST_HOURS);
    addTo(this.#byHour, hour, amount);
    addTo(this.#ownByHour, hour, amount);
  }

  /**
   * The calendar was set. Of what this process sent it is not known by which time it was counted, so it leaves the
   * quota later, never earlier.
   */
  calendarSet(byMs: number, nowMs: number): void {
    const own = [...this.#ownByHour];
    this.#ownByHour.clear();
    for (const [hour, requests] of own) {
      const to = hourAfter(hour, byMs, nowMs);
      if (to !== hour) this.#leftHours.add(hour);
      addTo(this.#byHour, hour, -requests);
      addTo(this.#byHour, to, requests);
      addTo(this.#ownByHour, to, requests);
    }
  }

  /** A bucket counts until all of it is older than the window: rounded to the safe side. */
  used(atMs: number, perMs: number): number {
    this.#dropOlderThan(Math.floor((atMs - perMs) / QUOTA_BUCKET_MS));
    let used = 0;
    for (const count of this.#byHour.values()) used += count;
    return used;
  }

  #dropOlderThan(oldestHour: number): void {
    for (const hour of this.#byHour.keys()) {
      if (hour >= oldestHour) continue;
      this.#ownByHour.delete(hour);
      if (this.#leftHours.has(hour)) this.#byHour.set(hour, 0);
      else this.#byHour.delete(hour);
    }
  }

  get buckets(): QuotaBuckets {
    return this.#byHour;
  }
}

/** Where what was counted in an hour is counted after the calendar was set: not earlier, and not in the future. */
export function hourAfter(hour: number, byMs: number, nowMs: number): number {
  const thisHour = Math.floor(nowMs / QUOTA_BUCKET_MS);
  return Math.max(hour, Math.min(thisHour, hour + Math.ceil(byMs / QUOTA_BUCKET_MS)));
}

function addTo(byHour: Map<number, number>, hour: number, amount: number): void {
  byHour.set(hour, Math.max(0, (byHour.get(hour) ?? 0) + amount));
}
