import { describe, expect, test } from "vitest";

import { scenarioOf, TEMPERS } from "./generate/generate.ts";
import { simulate } from "./simulate.ts";
import { worlds } from "../support/many.ts";

/** `npm run simulate` runs thousands of these, and longer ones. */
const HOURS = 0.03;
const SEEDS_EACH = worlds(1);

describe("in any world the limit holds, the accounts close, nobody starves, and everything recovers", () => {
  test.each(TEMPERS.filter((temper, index) => TEMPERS.indexOf(temper) === index))("%s", async (temper) => {
    for (let number = 1; number <= SEEDS_EACH; number += 1) {
      const seed = `${temper} ${number}`;
      const { violation, polls } = await simulate(scenarioOf(seed, HOURS * 3_600_000, [temper]));
      expect({ seed, violation }).toEqual({ seed, violation: undefined });
      expect(polls).toBeGreaterThan(0);
    }
  });
});

const SHORT_MS = 60_000;

test("the same seed sends the same requests at the same moments, whatever the machine is busy with", async () => {
  const outcomes = await Promise.all([1, 2].map(() => simulate(scenarioOf("twice", SHORT_MS))));
  expect(outcomes[0]).toEqual(outcomes[1]);
  const other = await simulate(scenarioOf("thrice", SHORT_MS));
  expect(other.fingerprint).not.toBe(outcomes[0]?.fingerprint);
});
