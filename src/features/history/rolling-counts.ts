/** How polls ended, how long the ok ones took, the time that they watched, and how much of it failed, over a rolling window in buckets: bounded, and cheap to sum. */

import { type Outcome, OUTCOMES } from "../../kernel/exchange/reasons.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import type { CountedBucket } from "./timeline.ts";

/** A month of hours takes 32 kB of plain numbers, and five times as much as objects. The index is the first number. */
const NUMBERS_A_BUCKET = 6 + OUTCOMES.length;
const OK_MS = 1 + OUTCOMES.length;
const LONGEST_MS = OK_MS + 1;
const WATCHED_MS = LONGEST_MS + 1;
const FAILED_MS = WATCHED_MS + 1;
const WITHIN_OBJECTIVE = FAILED_MS + 1;
const FIRST_BUCKETS = 8;

export type CountedPoll = Pick<Poll, "endedAtMs" | "outcome" | "durationMs" | "withinObjective">;

export class RollingCounts {
  readonly #bucketMs: number;
  readonly #length: number;
  /** The newest last. */
  #numbers: Int32Array<ArrayBuffer> = new Int32Array(FIRST_BUCKETS * NUMBERS_A_BUCKET);
  /** The same bytes, for the times of each bucket. */
  #times: Float32Array<ArrayBuffer> = new Float32Array(this.#numbers.buffer);
  /** How many of the numbers are in use. */
  #used = 0;

  /** Keeps `length` buckets besides the current one, the nearest to now. Continues `restored`, the newest last. */
  constructor(bucketMs: number, length: number, restored: readonly CountedBucket[] = []) {
    this.#bucketMs = bucketMs;
    this.#length = length;
    for (const bucket of restored.slice(-length - 1)) {
      const place = this.#push(bucket.index);
      OUTCOMES.forEach((outcome, offset) => (this.#numbers[place + 1 + offset] = bucket[outcome]));
      this.#times[place + OK_MS] = bucket.okMs;
      this.#times[place + LONGEST_MS] = bucket.longestMs;
      this.#times[place + WATCHED_MS] = bucket.watchedMs;
      this.#times[place + FAILED_MS] = bucket.failedMs;
      this.#numbers[place + WITHIN_OBJECTIVE] = bucket.withinObjective;
    }
  }

  add({ endedAtMs, outcome: { kind }, durationMs, withinObjective }: CountedPoll, watchedMs: number): void {
    const place = this.#placeOf(Math.floor(endedAtMs / this.#bucketMs));
    this.#numbers[place + 1 + OUTCOMES.indexOf(kind)] = this.#count(place, kind) + 1;
    this.#times[place + WATCHED_MS] = this.#timeAt(place + WATCHED_MS) + watchedMs;
    if (kind === "failed") this.#times[place + FAILED_MS] = this.#timeAt(place + FAILED_MS) + watchedMs;
    if (kind !== "ok") return;
    if (withinObjective) this.#numbers[place + WITHIN_OBJECTIVE] = this.#at(place + WITHIN_OBJECTIVE) + 1;
    this.#times[place + OK_MS] = this.#timeAt(place + OK_MS) + durationMs;
    this.#times[place + LONGEST_MS] = Math.max(this.#timeAt(place + LONGEST_MS), durationMs);
  }

  within(
    windowMs: number,
    nowMs: number,
  ): Pick<CountedBucket, "ok" | "withinObjective" | "watchedMs" | "failedMs"> {
    const oldest = Math.floor((nowMs - windowMs) / this.#bucketMs);
    const newest = Math.floor(nowMs / this.#bucketMs);
    const counts = { ok: 0, withinObjective: 0, watchedMs: 0, failedMs: 0 };
    for (let place = 0; place < this.#used; place += NUMBERS_A_BUCKET) {
      // A wall clock that was ahead for a while has left buckets of a time that is still to come.
      if (this.#at(place) < oldest || this.#at(place) > newest) continue;
      counts.ok += this.#count(place, "ok");
      counts.withinObjective += this.#at(place + WITHIN_OBJECTIVE);
      counts.watchedMs += this.#timeAt(place + WATCHED_MS);
      counts.failedMs += this.#timeAt(place + FAILED_MS);
    }
    return counts;
  }

  /** The newest last. */
  bucketsFrom(fromMs: number): readonly CountedBucket[] {
    const buckets: CountedBucket[] = [];
    for (let place = 0; place < this.#used; place += NUMBERS_A_BUCKET) {
      if ((this.#at(place) + 1) * this.#bucketMs > fromMs) buckets.push(this.#bucketAt(place));
    }
    return buckets;
  }

  #bucketAt(place: number): CountedBucket {
    return {
      index: this.#at(place),
      ok: this.#count(place, "ok"),
      failed: this.#count(place, "failed"),
      throttled: this.#count(place, "throttled"),
      rejected: this.#count(place, "rejected"),
      ours: this.#count(place, "ours"),
      okMs: this.#timeAt(place + OK_MS),
      longestMs: this.#timeAt(place + LONGEST_MS),
      watchedMs: this.#timeAt(place + WATCHED_MS),
      failedMs: this.#timeAt(place + FAILED_MS),
      withinObjective: this.#at(place + WITHIN_OBJECTIVE),
    };
  }

  #at(place: number): number {
    return this.#numbers[place] ?? 0;
  }

  #timeAt(place: number): number {
    return this.#times[place] ?? 0;
  }

  #count(place: number, outcome: Outcome): number {
    return this.#at(place + 1 + OUTCOMES.indexOf(outcome));
  }

  /** A new bucket with zeros. Returns its place. */
  #push(index: number): number {
    if (this.#used === this.#numbers.length) {
      const most = (this.#length + 1) * NUMBERS_A_BUCKET;
      const larger = new Int32Array(Math.min(most, this.#used * 2));
      larger.set(this.#numbers);
      this.#numbers = larger;
      this.#times = new Float32Array(larger.buffer);
    }
    const place = this.#used;
    this.#numbers.fill(0, place, place + NUMBERS_A_BUCKET);
    this.#numbers[place] = index;
    this.#used += NUMBERS_A_BUCKET;
    return place;
  }

  /** Of the bucket. A new one takes the place of the one that is furthest from it; what is older than all is put to the oldest. */
  #placeOf(index: number): number {
    let place = this.#used;
    while (place > 0 && this.#at(place - NUMBERS_A_BUCKET) > index) place -= NUMBERS_A_BUCKET;
    if (place > 0 && this.#at(place - NUMBERS_A_BUCKET) === index) return place - NUMBERS_A_BUCKET;
    if (this.#used === (this.#length + 1) * NUMBERS_A_BUCKET) {
      if (place === 0) return place;
      const newest = this.#at(this.#used - NUMBERS_A_BUCKET);
      if (index - this.#at(0) >= newest - index) {
        this.#numbers.copyWithin(0, NUMBERS_A_BUCKET, this.#used);
        place -= NUMBERS_A_BUCKET;
      }
      this.#used -= NUMBERS_A_BUCKET;
    }
    this.#push(index);
    if (place === this.#used - NUMBERS_A_BUCKET) return place;
    this.#numbers.copyWithin(place + NUMBERS_A_BUCKET, place, this.#used - NUMBERS_A_BUCKET);
    this.#numbers.fill(0, place, place + NUMBERS_A_BUCKET);
    this.#numbers[place] = index;
    return place;
  }
}
