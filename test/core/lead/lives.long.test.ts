import { expect, test } from "vitest";
import { randomLife } from "../../support/lead/random-life.ts";

const WORLDS = 1_500;

test("in thousands of worlds two never send, no cold start is cut short, no note is lost, and it is never silent", async () => {
  const firstSeed = Number(process.env["PACEWATCH_SEED"] ?? 1_000);
  for (let seed = firstSeed; seed < firstSeed + WORLDS; seed += 1) {
    const { wrongs, backAfterTtls } = await randomLife(seed);
    expect(wrongs, `seed ${seed}`).toEqual([]);
    expect(backAfterTtls, `seed ${seed}`).toBeLessThan(1.5);
  }
});
