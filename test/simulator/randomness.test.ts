import * as fc from "fast-check";
import { expect, it } from "vitest";
import { latencyMs } from "../../src/simulator/answer.ts";
import { seededRandom, within } from "../../src/simulator/randomness.ts";

function draw(seed: number, count: number): number[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, random);
}

it("the same seed gives the same numbers, another seed gives others", () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      expect(draw(seed, 20)).toEqual(draw(seed, 20));
      expect(draw(seed, 20)).not.toEqual(draw(seed + 1, 20));
    }),
  );
});

it("the numbers lie in [0, 1), and about as many in each tenth", () => {
  const tenths = Array.from({ length: 10 }, () => 0);
  for (const number of draw(7, 10_000)) {
    expect(number).toBeGreaterThanOrEqual(0);
    expect(number).toBeLessThan(1);
    const tenth = Math.floor(number * 10);
    tenths[tenth] = (tenths[tenth] ?? 0) + 1;
  }
  for (const count of tenths) expect(Math.abs(count - 1000)).toBeLessThan(150);
});

it("a span is never left", () => {
  fc.assert(
    fc.property(fc.integer(), fc.nat(1000), fc.nat(1000), (seed, minMs, widthMs) => {
      const drawn = within({ minMs, maxMs: minMs + widthMs }, seededRandom(seed));
      expect(drawn).toBeGreaterThanOrEqual(minMs);
      expect(drawn).toBeLessThanOrEqual(minMs + widthMs);
    }),
  );
});

it("a fault of time takes the place of the usual latency, and disturbs no later draw", () => {
  const usual = { minMs: 10, maxMs: 20 };
  const random = seededRandom(3);
  expect(latencyMs({ kind: "slow", delayMs: 500 }, usual, random)).toBe(500);
  const undisturbed = seededRandom(3);
  undisturbed();
  expect(latencyMs({ kind: "none" }, usual, random)).toBe(within(usual, undisturbed));
});
