/** One event among those that were counted. */
export type Exemplar = {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly atMs: number;
};

/** Eight buckets between a value and its double: a quantile is at most 9 % above what was measured. */
export const SCHEMA = 3;
/** 2^-14 s, 61 µs: no answer is that fast. From there, 160 buckets reach up to 64 s, longer than a poll may take. */
export const ZERO_THRESHOLD: number = 2 ** -14;

/** 2^(j/8), each rounded down: no number lies between it and the true bound, which is irrational but for the first. */
const BOUNDS_WITHIN_A_DOUBLING = [
  4_503_599_627_370_496, 4_911_210_218_475_898, 5_355_712_719_992_597, 5_840_446_135_085_607,
  6_369_051_672_525_772, 6_945_500_098_633_947, 7_574_121_564_787_629, 8_259_638_134_547_591,
].map((fraction) => fraction / 2 ** 52);
const DOUBLING = BOUNDS_WITHIN_A_DOUBLING.length;

function upperBound(index: number): number {
  const within = index & (DOUBLING - 1);
  return (BOUNDS_WITHIN_A_DOUBLING[within] ?? Number.NaN) * 2 ** ((index - within) / DOUBLING);
}

/** The logarithm is rounded, so it may miss by one at a bound. */
export function bucketOf(value: number): number {
  let index = Math.ceil(Math.log2(value) * DOUBLING);
  if (value > upperBound(index)) index += 1;
  else if (value <= upperBound(index - 1)) index -= 1;
  return index;
}

/** Bucket i counts the values above 2^((i-1)/8), up to 2^(i/8). */
export class ExponentialBuckets {
  /** Values up to ZERO_THRESHOLD. */
  zeroCount = 0;
  /** The index of the first of the counts, which have no gaps up to the last that counts anything. */
  first = 0;
  counts: number[] = [];

  observe(value: number): void {
    if (value <= ZERO_THRESHOLD) {
      this.zeroCount += 1;
      return;
    }
    const index = bucketOf(value);
    if (this.counts.length === 0) this.first = index;
    const before = Math.max(0, this.first - index);
    const after = Math.max(0, index + 1 - this.first - this.counts.length);
    // A push would reserve half as many places again.
    if (before + after > 0) this.counts = zeros(before).concat(this.counts, zeros(after));
    this.first -= before;
    const place = index - this.first;
    this.counts[place] = (this.counts[place] ?? 0) + 1;
  }
}

function zeros(length: number): number[] {
  return Array.from({ length }, () => 0);
}

/** Counts in a few buckets with fixed bounds, and in exponential ones. */
export class Histogram {
  readonly bounds: readonly number[];
  /** How many values are at or under each bound. */
  readonly counts: number[];
  readonly exponential: ExponentialBuckets = new ExponentialBuckets();
  count = 0;
  sum = 0;
  readonly startedAtMs: number;
  exemplar: Exemplar | undefined;

  constructor(bounds: readonly number[], startedAtMs: number) {
    this.bounds = bounds;
    this.counts = bounds.map(() => 0);
    this.startedAtMs = startedAtMs;
  }

  observe(value: number, exemplar?: Exemplar): void {
    this.bounds.forEach((bound, index) => {
      if (value <= bound) this.counts[index] = (this.counts[index] ?? 0) + 1;
    });
    this.count += 1;
    this.sum += value;
    this.exponential.observe(value);
    this.exemplar = exemplar;
  }
}
