import { expect, test } from "vitest";
import { randomLife } from "../../support/lead/random-life.ts";

const WORLDS = 1_500;

test("in thousands of worlds two never send, no cold start is cut short, no note is lost, and it is never silent", async () => {
  for (let seed = 1_001; seed <= 1_000 + WORLDS; seed += 1) {
    const { wrongs, backAfterTtls } = await randomLife(seed);
    expect(wrongs, `seed ${seed}`).toEqual([]);
    expect(backAfterTtls, `seed ${seed}`).toBeLessThan(1.5);
  }
});
