import { describe, expect, test } from "vitest";

import type { KnownLimit } from "../../../src/features/hints/learned-windows.ts";
import { needsOf } from "../../../src/kernel/budget/needs.ts";
import { limitComparison } from "../../../src/features/hints/limit-sentence.ts";
import { sampleBudget, sampleUpstream } from "../../support/kernel-samples.ts";

const FIVE_A_MINUTE: KnownLimit = {
  key: "ratelimit",
  resetMs: undefined,
  unit: "requests",
  limit: 5,
  remaining: 4,
  perMs: 60_000,
  windowFrom: "told",
  resource: undefined,
};

describe("what a lower limit changes", () => {
  test("where the schedules need more than it allows, one poll a period goes on until it refuses", () => {
    const sentence = limitComparison(FIVE_A_MINUTE, sampleBudget({ share: 0.2 }), () => 4);
    expect(sentence).toBe(
      "you configured 60/1m, it says 5 per 1m: lower this rate to 5. " +
        "Its word alone does not end one poll a period (4 in 1m); a refusal does",
    );
  });

  test("where they need no more, nothing is said of it", () => {
    expect(limitComparison(FIVE_A_MINUTE, sampleBudget(), () => 4)).toBe(
      "you configured 60/1m, it says 5 per 1m: lower this rate to 5",
    );
    expect(limitComparison({ ...FIVE_A_MINUTE, limit: 60 }, sampleBudget(), () => 90)).toBe(
      "as configured: 60/1m",
    );
  });

  test("an upstream that is polled each second needs its second", () => {
    const needs = needsOf([sampleUpstream()]);
    expect(limitComparison({ ...FIVE_A_MINUTE, limit: 1 }, sampleBudget(), needs)).toMatch(
      /one poll a period \(\d+ in 1m\)/,
    );
  });
});
