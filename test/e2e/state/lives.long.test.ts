import { expect, test } from "vitest";
import { liveInAWorld, type Tally } from "../../../tools/lives/world.ts";

test("two random lives and their ends, by the upstream's own count: no rate, no quota and no pause is broken", async () => {
  const tally: Tally = { lives: 0, kills: 0, damages: 0, told: 0, steps: 0, full: 0, reloads: 0 };
  const broken = await Promise.all([20261123, 7].map((seed) => liveInAWorld(seed, tally)));
  expect(broken.flat()).toEqual([]);
  expect(tally.lives).toBe(24);
  expect(tally.kills).toBeGreaterThan(0);
  expect(tally.told).toBeGreaterThan(0);
});
