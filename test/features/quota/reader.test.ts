import * as fc from "fast-check";
import { expect, test } from "vitest";
import { readAnswerHints } from "../../../src/features/hints/fields/answer-hints.ts";
import type { PollOutcome } from "../../../src/kernel/exchange/outcome.ts";
import { readQuotas, type SeenQuota } from "../../../src/features/quota/reader.ts";

const NOW_MS = Date.parse("2026-11-22T10:00:00Z");
const DAY_MS = 86_400_000;

function read(
  headers: Readonly<Record<string, string>>,
  outcome: PollOutcome = { kind: "ok", reason: "" },
): readonly SeenQuota[] | undefined {
  const lines = Object.entries(headers);
  return readQuotas(
    readAnswerHints({ status: 200, reasonPhrase: "", headers: lines }, NOW_MS, String).hints.families,
    outcome,
  );
}

test.each<readonly [string, Readonly<Record<string, string>>, readonly SeenQuota[] | undefined]>([
  ["nothing", {}, undefined],
  ["a limit of a minute", { "ratelimit-policy": '"a";q=60;w=60', ratelimit: '"a";r=30;t=20' }, undefined],
  [
    "a quota of a day, and when it refills",
    { "ratelimit-policy": '"day";q=1000;w=86400', ratelimit: '"day";r=250;t=7200' },
    [{ quota: "1d", left: 0.25, refillsInMs: 7_200_000 }],
  ],
  [
    "of two quotas of a day, the one with less left; and one of a month",
    {
      "ratelimit-policy": '"a";q=1000;w=86400, "b";q=10;w=86400, "c";q=100;w=2592000',
      ratelimit: '"a";r=250;t=9, "b";r=1;t=8, "c";r=100;t=7',
    },
    [
      { quota: "1d", left: 0.1, refillsInMs: 8_000 },
      { quota: "30d", left: 1, refillsInMs: 7_000 },
    ],
  ],
  [
    "a quota of a day, and not when it refills",
    { "x-ratelimit-limit-day": "1000", "x-ratelimit-remaining-day": "500" },
    [{ quota: "1d", left: 0.5, refillsInMs: DAY_MS }],
  ],
  ["a quota of nothing", { "x-ratelimit-limit-day": "0", "x-ratelimit-remaining-day": "0" }, undefined],
  ["a quota without what is left", { "x-ratelimit-limit-day": "1000" }, undefined],
])("an answer may tell %s", (_, headers, seen) => {
  expect(read(headers)).toEqual(seen);
});

test("a refusal for want of a quota tells it too; what a failure tells is not believed", () => {
  const headers = { "x-ratelimit-limit-day": "1000", "x-ratelimit-remaining-day": "0" };
  expect(read(headers, { kind: "throttled", reason: "quota" })).toMatchObject([{ left: 0 }]);
  expect(read(headers, { kind: "failed", reason: "server_error" })).toBeUndefined();
});

test("whatever numbers are sent, what is left is a part of the whole, and the refill is not in the past", () => {
  const anyNumber = fc.oneof(
    fc.integer().map(String),
    fc.double().map(String),
    fc.constantFrom("1e308", "-0", "9".repeat(400), "null", "", "0.0000000001", "86400;w=1"),
  );
  const anyHeaders = fc.record({
    "x-ratelimit-limit-day": anyNumber,
    "x-ratelimit-remaining-day": anyNumber,
    "x-ratelimit-reset-day": anyNumber,
    "ratelimit-policy": fc.tuple(anyNumber, anyNumber).map(([q, w]) => `"a";q=${q};w=${w}`),
    ratelimit: fc.tuple(anyNumber, anyNumber).map(([r, t]) => `"a";r=${r};t=${t}`),
  });
  fc.assert(
    fc.property(anyHeaders, (headers) => {
      for (const { left, refillsInMs } of read(headers) ?? []) {
        expect(left).toBeGreaterThanOrEqual(0);
        expect(left).toBeLessThanOrEqual(1);
        expect(refillsInMs).toBeGreaterThanOrEqual(0);
      }
    }),
    { seed: 20_261_122, numRuns: 800 },
  );
});
