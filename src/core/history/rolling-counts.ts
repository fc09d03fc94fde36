/** Ok and failed polls over a rolling window, in buckets: bounded, and cheap to sum. */

export type OkAndFailed = { readonly ok: number; readonly failed: number };

/** `index` counts buckets since the epoch. */
export type CountedBucket = OkAndFailed & { readonly index: number };

/** These are its index, ok, failed. A month of hours takes 9 kB of plain numbers, and 50 kB of objects. */
const NUMBERS_A_BUCKET = 3;
const FIRST_BUCKETS = 8;

export class RollingCounts {
  readonly #bucketMs: number;
  readonly #length: number;
  /** The newest last. */
  #numbers: Float64Array;
  /** How many of the numbers are in use. */
  #used = 0;

  /** Keeps `length` whole buckets besides the current one. Continues `restored`, the newest last. */
  constructor(bucketMs: number, length: number, restored: readonly CountedBucket[] = []) {
    this.#bucketMs = bucketMs;
    this.#length = length;
    this.#numbers = new Float64Array(FIRST_BUCKETS * NUMBERS_A_BUCKET);
    for (const { index, ok, failed } of restored.slice(-length - 1)) this.#push(index, ok, failed);
  }

  add(atMs: number, isOk: boolean): void {
    const index = Math.floor(atMs / this.#bucketMs);
    // What comes late, or after a wall clock was set back, fills the newest bucket.
    if (this.#used === 0 || this.#at(this.#used - NUMBERS_A_BUCKET) < index) {
      this.#drop(index);
      this.#push(index, 0, 0);
    }
    const place = this.#used - (isOk ? 2 : 1);
    this.#numbers[place] = this.#at(place) + 1;
  }

  within(windowMs: number, nowMs: number): OkAndFailed {
    const oldest = Math.floor((nowMs - windowMs) / this.#bucketMs);
    const counts = { ok: 0, failed: 0 };
    for (let place = 0; place < this.#used; place += NUMBERS_A_BUCKET) {
      if (this.#at(place) < oldest) continue;
      counts.ok += this.#at(place + 1);
      counts.failed += this.#at(place + 2);
    }
    return counts;
  }

  #at(place: number): number {
    return this.#numbers[place] ?? 0;
  }

  #push(index: number, ok: number, failed: number): void {
    if (this.#used === this.#numbers.length) {
      const most = (this.#length + 1) * NUMBERS_A_BUCKET;
      const larger = new Float64Array(Math.min(most, this.#used * 2));
      larger.set(this.#numbers);
      this.#numbers = larger;
    }
    this.#numbers.set([index, ok, failed], this.#used);
    this.#used += NUMBERS_A_BUCKET;
  }

  #drop(newestIndex: number): void {
    let kept = 0;
    while (kept < this.#used && this.#at(kept) < newestIndex - this.#length) kept += NUMBERS_A_BUCKET;
    if (kept === 0) return;
    this.#numbers.copyWithin(0, kept, this.#used);
    this.#used -= kept;
  }
}
