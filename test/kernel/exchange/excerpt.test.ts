import * as fc from "fast-check";
import { expect, test } from "vitest";

import { excerptOf } from "../../../src/kernel/exchange/excerpt.ts";
import type { Exchange } from "../../../src/kernel/exchange/exchange.ts";

function answered(body: string | Uint8Array): Exchange {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  return { kind: "answered", head: { status: 500, reasonPhrase: "", headers: [] }, body: bytes };
}

test("a short body is shown whole, on one safe line", () => {
  expect(excerptOf(answered('{"error":"no\nsuch\u0000key"}'), 100, String)).toBe(
    '{"error":"no\\nsuch\\u0000key"}',
  );
});

test("a long body is cut where its room ends, between two characters", () => {
  expect(excerptOf(answered("x".repeat(1_000_000)), 10, String)).toBe(`${"x".repeat(9)}…`);
  expect(excerptOf(answered("世".repeat(100)), 10, String)).toBe(`${"世".repeat(9)}…`);
  expect(excerptOf(answered("🎉".repeat(100)), 10, String)).toBe(`${"🎉".repeat(4)}…`);
});

test("bytes that are no text show as such", () => {
  expect(excerptOf(answered(Uint8Array.from([0x61, 0xff, 0x62])), 10, String)).toBe("a\ufffdb");
});

test("where no body came, there is nothing to show", () => {
  expect(excerptOf(answered(""), 10, String)).toBeUndefined();
  const broken: Exchange = { kind: "broken", fault: "reset", detail: "reset", sent: true, head: undefined };
  expect(excerptOf(broken, 10, String)).toBeUndefined();
});

test("whatever the bytes, an excerpt keeps to its room and one line", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 300 }),
      fc.integer({ min: 1, max: 60 }),
      (body, maxLength) => {
        const excerpt = excerptOf(answered(body), maxLength, String) ?? "";
        expect(excerpt.length).toBeLessThanOrEqual(maxLength);
        expect(excerpt).not.toMatch(/\p{Cc}|\p{Cs}|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
        const mustBeCut = body.length > maxLength * 3;
        expect(excerpt.endsWith("…") || !mustBeCut).toBe(true);
      },
    ),
    { seed: 20_261_120, numRuns: 600 },
  );
});
