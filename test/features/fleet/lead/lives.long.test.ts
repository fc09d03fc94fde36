import { expect, test } from "vitest";
import { randomLife } from "../../../support/lead/random-life.ts";

const WORLDS = 300;

test.each([1_000, 2_000, 3_000, 4_000])(
  "from world %i on two never send, no cold start is cut short, no note is lost, and it is never silent",
  async (firstSeed) => {
    for (let seed = firstSeed; seed < firstSeed + WORLDS; seed += 1) {
      const { wrongs, backAfterTtls } = await randomLife(seed);
      expect(wrongs, `seed ${seed}`).toEqual([]);
      expect(backAfterTtls, `seed ${seed}`).toBeLessThan(1.5);
    }
  },
);
