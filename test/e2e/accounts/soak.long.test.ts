import { expect, it } from "vitest";
import { soak } from "../../../tools/soak/soak.ts";
import { flatnessOf, lossesOf, percent } from "../../../tools/soak/verdict.ts";

it("through seconds of faults and reloads no slot is lost, and the upstreams count as many requests as were sent", async () => {
  const soaked = await soak({
    minutes: 0.1,
    upstreams: 60,
    settlesMs: 1_000,
    sightEveryMs: 590,
    visitEveryMs: 150,
    reloadEveryMs: 1_500,
  });
  // Seconds are too few to judge how flat it is: for the reader alone.
  for (const { name, mean, growth } of flatnessOf(soaked.sights)) {
    console.log(`${name}: ${mean.toFixed(0)}, gained ${percent(growth)}`);
  }
  expect(lossesOf(soaked)).toEqual([]);
  // Five of them are compared with five others.
  expect(soaked.sights.length).toBeGreaterThanOrEqual(10);
  expect(soaked.sent).toBeGreaterThan(0);
  expect(soaked.reloads).toBeGreaterThan(1);
  expect(soaked.visits).toBeGreaterThan(0);
  expect(soaked.counts.has("ours bug")).toBe(false);
}, 120_000);
