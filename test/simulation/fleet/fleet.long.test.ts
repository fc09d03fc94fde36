import { describe, expect, test } from "vitest";

import { FLEET_TEMPERS, fleetScenarioOf } from "./generate/generate.ts";
import { simulateFleet } from "./simulate.ts";

/** `npm run simulate -- --fleet` runs thousands of these. */
const LENGTH_MS = 300_000;
const SEEDS_EACH = 5;

describe("in any world the replicas together keep the limit, and nobody polls what another one holds", () => {
  test.each([...new Set(FLEET_TEMPERS)])("%s", async (temper) => {
    for (let number = 1; number <= SEEDS_EACH; number += 1) {
      const seed = `${temper} ${number}`;
      const { violation, polls } = await simulateFleet(
        fleetScenarioOf(seed, LENGTH_MS, { tempers: [temper] }),
      );
      expect({ seed, violation }).toEqual({ seed, violation: undefined });
      expect(polls).toBeGreaterThan(0);
    }
  });
});

test("the same seed lets a fleet send the same requests at the same moments", async () => {
  const outcomes = await Promise.all([1, 2].map(() => simulateFleet(fleetScenarioOf("twice", LENGTH_MS))));
  expect(outcomes[0]).toEqual(outcomes[1]);
  const other = await simulateFleet(fleetScenarioOf("thrice", LENGTH_MS));
  expect(other.fingerprint).not.toBe(outcomes[0]?.fingerprint);
});
