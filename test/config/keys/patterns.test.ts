import { assert, integer, property } from "fast-check";
import { test } from "vitest";
import { numbersPattern } from "../../../src/config/keys/patterns.ts";

test("a pattern of numbers takes those in its range and no others", () => {
  const near = integer({ min: -1, max: 1 });
  const number = integer({ min: 0, max: 40_000_000_000 });
  const isRight = (a: number, b: number, any: number, offset: number): boolean => {
    const [min, max] = [Math.min(a, b), Math.max(a, b)];
    const pattern = new RegExp(`^${numbersPattern(min, max)}$`);
    return [min + offset, max + offset, any]
      .filter((value) => value >= 0)
      .every((value) => pattern.test(String(value)) === (value >= min && value <= max));
  };
  assert(property(number, number, number, near, isRight), { seed: 15, numRuns: 500 });
  const small = integer({ min: 0, max: 1_200 });
  assert(property(small, small, small, near, isRight), { seed: 15, numRuns: 500 });
});
