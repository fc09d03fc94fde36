import { expect, test } from "vitest";
import { randomLife } from "../../../support/lead/random-life.ts";

const WORLDS = 20;

test("whatever happens to processes, clocks, network and server, two never send, and somebody leads again", async () => {
  for (let seed = 1; seed <= WORLDS; seed += 1) {
    const { wrongs, backAfterTtls } = await randomLife(seed, 150_000);
    expect(wrongs, `seed ${seed}`).toEqual([]);
    expect(backAfterTtls, `seed ${seed}`).toBeLessThan(1.5);
  }
});
