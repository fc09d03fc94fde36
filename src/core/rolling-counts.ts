/** Ok and failed polls over a rolling window, in buckets: bounded, and cheap to sum. */

export type OkAndFailed = { readonly ok: number; readonly failed: number };

/** `index` counts buckets since the epoch. */
export type CountedBucket = OkAndFailed & { readonly index: number };

type Bucket = { readonly index: number; ok: number; failed: number };

export class RollingCounts {
  readonly #bucketMs: number;
  readonly #length: number;
  readonly #buckets: Bucket[];

  /** Keeps `length` whole buckets besides the one that is being filled; goes on with `restored`, the newest last. */
  constructor(bucketMs: number, length: number, restored: readonly CountedBucket[] = []) {
    this.#bucketMs = bucketMs;
    this.#length = length;
    this.#buckets = restored.slice(-length - 1).map(({ index, ok, failed }) => ({ index, ok, failed }));
  }

  add(atMs: number, isOk: boolean): void {
    const index = Math.floor(atMs / this.#bucketMs);
    let bucket = this.#buckets.at(-1);
    // A wall clock that was set back goes on filling the newest bucket.
    if (bucket === undefined || bucket.index < index) {
      bucket = { index, ok: 0, failed: 0 };
      this.#buckets.push(bucket);
      this.#drop(index);
    }
    if (isOk) bucket.ok += 1;
    else bucket.failed += 1;
  }

  within(windowMs: number, nowMs: number): OkAndFailed {
    const oldest = Math.floor((nowMs - windowMs) / this.#bucketMs);
    const counts = { ok: 0, failed: 0 };
    for (const bucket of this.#buckets) {
      if (bucket.index < oldest) continue;
      counts.ok += bucket.ok;
      counts.failed += bucket.failed;
    }
    return counts;
  }

  #drop(newestIndex: number): void {
    const kept = this.#buckets.findIndex((bucket) => bucket.index >= newestIndex - this.#length);
    if (kept > 0) this.#buckets.splice(0, kept);
  }
}
