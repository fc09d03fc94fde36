import { expect, test } from "vitest";
import { liveOnce } from "../../support/notify/lives.ts";

test("over 1,000 random lives, each incident is told to each receiver, and twice only where an answer or the sender was lost", async () => {
  let incidents = 0;
  for (let seed = 1; seed <= 1_000; seed += 1) {
    const verdict = await liveOnce(seed);
    expect(verdict.faults, `seed ${seed}`).toEqual([]);
    incidents += verdict.incidents;
  }
  expect(incidents).toBeGreaterThan(7_000);
}, 1_200_000);
