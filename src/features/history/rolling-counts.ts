/** How polls ended, how long the ok ones took, the time that they watched, and how much of it failed, over a rolling window in buckets: bounded, and cheap to sum. */

import { OUTCOMES } from "../../kernel/exchange/reasons.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import type { CountedBucket } from "./timeline.ts";

/** A month of hours takes 32 kB of plain numbers, and five times as much as objects. */
const FIELDS = [...OUTCOMES, "okMs", "longestMs", "watchedMs", "failedMs", "withinObjective"] as const;
type Field = (typeof FIELDS)[number];

/** The index is the first number of a bucket. */
const NUMBERS_A_BUCKET = 1 + FIELDS.length;
const offsetOf = (field: Field): number => 1 + FIELDS.indexOf(field);
const [OK, WITHIN, WATCHED, FAILED] = [
  offsetOf("ok"),
  offsetOf("withinObjective"),
  offsetOf("watchedMs"),
  offsetOf("failedMs"),
];
const FIRST_BUCKETS = 8;

/** All that is counted, as numbers: a thousand upstreams hand over a month of theirs in 32 MB. */
export type PackedCounts = Int32Array<ArrayBuffer>;

export type CountedPoll = Pick<Poll, "endedAtMs" | "outcome" | "durationMs" | "withinObjective">;

export class RollingCounts {
  readonly #bucketMs: number;
  readonly #mostNumbers: number;
  /** The newest bucket last. */
  #numbers: Float32Array<ArrayBuffer>;
  /** The same bytes, for the index of each bucket. */
  #indices: Int32Array<ArrayBuffer>;
  /** How many of the numbers are in use. */
  #used: number;

  /** Keeps `length` buckets besides the current one, the nearest to now. Goes on with those of `packed`, which become its own. */
  constructor(bucketMs: number, length: number, packed: PackedCounts = new Int32Array()) {
    this.#bucketMs = bucketMs;
    this.#mostNumbers = (length + 1) * NUMBERS_A_BUCKET;
    this.#used = packed.length;
    this.#indices = packed.length > 0 ? packed : new Int32Array(FIRST_BUCKETS * NUMBERS_A_BUCKET);
    this.#numbers = new Float32Array(this.#indices.buffer);
  }

  /** To be handed on: nothing is counted here any more. */
  get packed(): PackedCounts {
    return this.#used === this.#indices.length ? this.#indices : this.#indices.slice(0, this.#used);
  }

  restore(bucket: CountedBucket): void {
    const place = this.#placeOf(bucket.index);
    for (const field of FIELDS) this.#add(place, field, bucket[field]);
  }

  add({ endedAtMs, outcome: { kind }, durationMs, withinObjective }: CountedPoll, watchedMs: number): void {
    const place = this.#placeOf(Math.floor(endedAtMs / this.#bucketMs));
    this.#add(place, kind, 1);
    this.#add(place, "watchedMs", watchedMs);
    if (kind === "failed") this.#add(place, "failedMs", watchedMs);
    if (kind !== "ok") return;
    if (withinObjective) this.#add(place, "withinObjective", 1);
    this.#add(place, "okMs", durationMs);
    this.#add(place, "longestMs", Math.max(0, durationMs - this.#at(place, "longestMs")));
  }

  within(
    windowMs: number,
    nowMs: number,
  ): Pick<CountedBucket, "ok" | "withinObjective" | "watchedMs" | "failedMs"> {
    const oldest = Math.floor((nowMs - windowMs) / this.#bucketMs);
    const newest = Math.floor(nowMs / this.#bucketMs);
    const numbers = this.#numbers;
    let [ok, withinObjective, watchedMs, failedMs] = [0, 0, 0, 0];
    // A list of all upstreams asks for a month of each.
    for (let place = this.#used - NUMBERS_A_BUCKET; place >= 0; place -= NUMBERS_A_BUCKET) {
      const index = this.#indexAt(place);
      if (index < oldest) break;
      // A wall clock that was ahead for a while has left buckets of a time that is still to come.
      if (index > newest) continue;
      ok += numbers[place + OK] ?? 0;
      withinObjective += numbers[place + WITHIN] ?? 0;
      watchedMs += numbers[place + WATCHED] ?? 0;
      failedMs += numbers[place + FAILED] ?? 0;
    }
    return { ok, withinObjective, watchedMs, failedMs };
  }

  /** The newest last. */
  bucketsFrom(fromMs: number): readonly CountedBucket[] {
    const buckets: CountedBucket[] = [];
    for (let place = 0; place < this.#used; place += NUMBERS_A_BUCKET) {
      if ((this.#indexAt(place) + 1) * this.#bucketMs > fromMs) buckets.push(this.#bucketAt(place));
    }
    return buckets;
  }

  #bucketAt(place: number): CountedBucket {
    return {
      index: this.#indexAt(place),
      ok: this.#at(place, "ok"),
      failed: this.#at(place, "failed"),
      throttled: this.#at(place, "throttled"),
      rejected: this.#at(place, "rejected"),
      ours: this.#at(place, "ours"),
      okMs: this.#at(place, "okMs"),
      longestMs: this.#at(place, "longestMs"),
      watchedMs: this.#at(place, "watchedMs"),
      failedMs: this.#at(place, "failedMs"),
      withinObjective: this.#at(place, "withinObjective"),
    };
  }

  #indexAt(place: number): number {
    return this.#indices[place] ?? 0;
  }

  #at(place: number, field: Field): number {
    return this.#numbers[place + offsetOf(field)] ?? 0;
  }

  #add(place: number, field: Field, amount: number): void {
    this.#numbers[place + offsetOf(field)] = this.#at(place, field) + amount;
  }

  /** Of the bucket. A new one takes the place of the one that is furthest from it; what is older than all is put to the oldest. */
  #placeOf(index: number): number {
    let place = this.#used;
    while (place > 0 && this.#indexAt(place - NUMBERS_A_BUCKET) > index) place -= NUMBERS_A_BUCKET;
    if (place > 0 && this.#indexAt(place - NUMBERS_A_BUCKET) === index) return place - NUMBERS_A_BUCKET;
    if (this.#used < this.#mostNumbers) return this.#insert(place, index);
    if (place === 0) return place;
    this.#used -= NUMBERS_A_BUCKET;
    const [oldest, newest] = [this.#indexAt(0), this.#indexAt(this.#used)];
    if (index - oldest < newest - index) return this.#insert(place, index);
    this.#indices.copyWithin(0, NUMBERS_A_BUCKET);
    return this.#insert(place - NUMBERS_A_BUCKET, index);
  }

  /** A new bucket with zeros. Returns its place. */
  #insert(place: number, index: number): number {
    if (this.#used === this.#indices.length) {
      const larger = new Int32Array(Math.min(this.#mostNumbers, this.#used * 2));
      larger.set(this.#indices);
      this.#indices = larger;
      this.#numbers = new Float32Array(larger.buffer);
    }
    this.#indices.copyWithin(place + NUMBERS_A_BUCKET, place, this.#used);
    this.#indices.fill(0, place, place + NUMBERS_A_BUCKET);
    this.#indices[place] = index;
    this.#used += NUMBERS_A_BUCKET;
    return place;
  }
}
