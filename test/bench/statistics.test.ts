import { expect, test } from "vitest";
import { medianInterval, noiseOf, pairedRatios, quantile, summaryOf } from "../../bench/report/statistics.ts";

test("a quantile lies between two values in proportion, whatever their order", () => {
  expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5);
  expect(quantile([4, 1, 3, 2], 0)).toBe(1);
  expect(quantile([4, 1, 3, 2], 1)).toBe(4);
  expect(quantile([10, 20], 0.99)).toBeCloseTo(19.9);
});

test("of nothing there is no quantile", () => {
  expect(quantile([], 0.5)).toBeNaN();
});

test("a summary keeps every value in the order of the rounds", () => {
  expect(summaryOf([3, 1, 2])).toEqual({ min: 1, median: 2, max: 3, values: [3, 1, 2] });
});

test("a machine that is three times slower in one round changes no ratio", () => {
  expect(pairedRatios([10, 30], [20, 60])).toEqual([0.5, 0.5]);
});

test("rounds that only one of the two was measured in are refused", () => {
  expect(() => pairedRatios([1, 2], [1])).toThrow('cannot pair: "theirs" must have 2 values, received 1');
});

test("noise is half of what lies between the least and the most", () => {
  expect(noiseOf(summaryOf([0.4, 0.5, 0.6]))).toBeCloseTo(0.1);
  expect(noiseOf(summaryOf([0.4]))).toBe(0);
});

test("the true median lies between the least and the most of six values with 97 %", () => {
  expect(medianInterval([3, 1, 6, 2, 5, 4])).toEqual({ low: 1, high: 6, confidence: 1 - 2 / 64 });
});

test("of more values the outermost decide nothing, of fewer it is said how little is sure", () => {
  expect(medianInterval([1, 2, 3, 4, 5, 6, 7, 8, 9])).toEqual({ low: 2, high: 8, confidence: 1 - 20 / 512 });
  expect(medianInterval([1, 2, 3])).toEqual({ low: 1, high: 3, confidence: 0.75 });
  expect(medianInterval([1])).toEqual({ low: 1, high: 1, confidence: 0 });
  expect(medianInterval([])).toEqual({ low: Number.NaN, high: Number.NaN, confidence: 0 });
});
