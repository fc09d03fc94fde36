/** The long quota of one budget: rolling, in hour buckets, so that it fits into the state file. */

export const QUOTA_BUCKET_MS = 3_600_000;

/** A budget without a quota counts too, in case it gets one, but not for ever. */
const MOST_HOURS = 366 * 24;

export type QuotaBuckets = ReadonlyMap<number, number>;

export class QuotaCount {
  /** Requests by hour since the epoch. */
  #byHour: Map<number, number>;

  constructor(byHour: QuotaBuckets = new Map()) {
    this.#byHour = new Map(byHour);
  }

  /** `amount` is -1 if a request turned out to be unsent. */
  add(atMs: number, amount: number): void {
    const hour = Math.floor(atMs / QUOTA_BUCKET_MS);
    if (!this.#byHour.has(hour)) this.#dropOlderThan(hour - MOST_HOURS);
    this.#byHour.set(hour, Math.max(0, (this.#byHour.get(hour) ?? 0) + amount));
  }

  /** A bucket counts until all of it is older than the window: rounded to the safe side. */
  used(atMs: number, perMs: number): number {
    this.#dropOlderThan(Math.floor((atMs - perMs) / QUOTA_BUCKET_MS));
    let used = 0;
    for (const count of this.#byHour.values()) used += count;
    return used;
  }

  #dropOlderThan(oldestHour: number): void {
    for (const hour of this.#byHour.keys()) if (hour < oldestHour) this.#byHour.delete(hour);
  }

  get buckets(): QuotaBuckets {
    return this.#byHour;
  }
}
