import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  bucketOf,
  ExponentialBuckets,
  Histogram,
  ZERO_THRESHOLD,
} from "../../../src/kernel/metrics/histogram.ts";

/** A number as a whole one times a power of two, both exact. */
function exactly(value: number): { readonly whole: bigint; readonly exponent: number } {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const exponentBits = (bits.getUint32(0) >>> 20) & 0x7ff;
  const fraction = bits.getBigUint64(0) & 0xf_ffff_ffff_ffffn;
  if (exponentBits === 0) return { whole: fraction, exponent: -1074 };
  return { whole: fraction | (1n << 52n), exponent: exponentBits - 1075 };
}

/** Whether value <= 2^(index / 8), without rounding: both are raised to the power 8. */
function isAtOrUnder(value: number, index: number): boolean {
  const { whole, exponent } = exactly(value);
  const shift = exponent * 8 - index;
  const raised = whole ** 8n;
  return shift >= 0 ? raised << BigInt(shift) <= 1n : raised <= 1n << BigInt(-shift);
}

function nextUp(value: number): number {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  bits.setBigUint64(0, bits.getBigUint64(0) + 1n);
  return bits.getFloat64(0);
}

function nextDown(value: number): number {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  bits.setBigUint64(0, bits.getBigUint64(0) - 1n);
  return bits.getFloat64(0);
}

function isExact(value: number): boolean {
  const index = bucketOf(value);
  return isAtOrUnder(value, index) && !isAtOrUnder(value, index - 1);
}

describe("the bucket of a value", () => {
  test("is exact for every number, by arithmetic without rounding", () => {
    const usual = fc.double({ min: 2 ** -40, max: 2 ** 40, noNaN: true });
    const any = fc.double({ min: 2 ** -1022, max: Number.MAX_VALUE, noNaN: true });
    expect(fc.check(fc.property(usual, isExact), { numRuns: 1_200 })).toMatchObject({
      failed: false,
    });
    expect(fc.check(fc.property(any, isExact))).toMatchObject({ failed: false });
  });

  test("is exact at every bound, just below it and just above it", () => {
    for (let eighths = -8 * 40; eighths <= 8 * 40; eighths += 1) {
      const near = 2 ** (eighths / 8);
      for (const value of [
        nextDown(nextDown(near)),
        nextDown(near),
        near,
        nextUp(near),
        nextUp(nextUp(near)),
      ])
        expect(isExact(value), `${value}`).toBe(true);
    }
  });

  test("ends at a power of two, and the next number is in the next", () => {
    for (let exponent = -1000; exponent <= 1000; exponent += 1) {
      expect(bucketOf(2 ** exponent)).toBe(exponent * 8);
      expect(bucketOf(nextUp(2 ** exponent))).toBe(exponent * 8 + 1);
    }
  });
});

function indicesOf({ first, counts }: ExponentialBuckets): ReadonlyMap<number, number> {
  return new Map(counts.flatMap((count, place) => (count === 0 ? [] : [[first + place, count] as const])));
}

describe("exponential buckets", () => {
  const values = fc.array(fc.double({ min: 0, max: 2 ** 20, noNaN: true }), { maxLength: 200 });

  test("count every value once, where its own bucket is", () => {
    fc.assert(
      fc.property(values, (all) => {
        const buckets = new ExponentialBuckets();
        for (const value of all) buckets.observe(value);
        const wanted = new Map<number, number>();
        const positive = all.filter((value) => value > ZERO_THRESHOLD);
        for (const value of positive) {
          const index = bucketOf(value);
          wanted.set(index, (wanted.get(index) ?? 0) + 1);
        }
        expect([...indicesOf(buckets)]).toEqual([...wanted].toSorted(([a], [b]) => a - b));
        expect(buckets.zeroCount).toBe(all.length - positive.length);
      }),
    );
  });

  test("are 160 for all that a poll can take, and a few more where the machine slept in it", () => {
    const buckets = new ExponentialBuckets();
    for (const value of [nextUp(ZERO_THRESHOLD), 64]) buckets.observe(value);
    expect(buckets.counts.length).toBe(160);
    buckets.observe(8 * 3_600);
    expect(buckets.counts.length).toBeLessThan(240);
  });
});

test("a quantile of exponential buckets is at most one bucket, 9 %, from that of the raw values", () => {
  const values = fc.array(fc.double({ min: 0.000_1, max: 60, noNaN: true }), {
    minLength: 1,
    maxLength: 300,
  });
  fc.assert(
    fc.property(values, fc.double({ min: 0.01, max: 1, noNaN: true }), (all, quantile) => {
      const histogram = new Histogram([], 0);
      for (const value of all) histogram.observe(value);
      const rank = Math.ceil(quantile * all.length);
      const exact = all.toSorted((a, b) => a - b)[rank - 1] ?? 0;
      const { first, counts } = histogram.exponential;
      let seen = 0;
      const place = counts.findIndex((count) => (seen += count) >= rank);
      const upper = 2 ** ((first + place) / 8);
      expect(exact).toBeLessThanOrEqual(upper * (1 + 1e-12));
      expect(exact).toBeGreaterThan((upper / 2 ** (1 / 8)) * (1 - 1e-12));
    }),
  );
});
