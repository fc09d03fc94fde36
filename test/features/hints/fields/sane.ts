import { expect } from "vitest";

import type { AnswerHints } from "../../../../src/features/hints/fields/answer-hints.ts";
import type { Headers } from "../../../../src/kernel/exchange/exchange.ts";
import { answerHintsOn } from "../../../support/answer-hints.ts";
import { limitsOf } from "../../../../src/features/hints/fields/limits.ts";

const NOW_MS = Date.UTC(2026, 10, 20, 12, 0, 0);

/** Every field that is read, in some of its spellings. */
export const NAMES = [
  "retry-after",
  "retry-after-ms",
  "x-ms-retry-after-ms",
  "ratelimit",
  "ratelimit-policy",
  "ratelimit-limit",
  "ratelimit-remaining",
  "ratelimit-reset",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
  "x-rate-limit",
  "x-rate-limit-limit",
  "x-rate-limit-remaining-day",
  "x-rate-limit-limit-day",
  "x-ratelimit-limit-requests",
  "x-ratelimit-remaining-requests",
  "x-ratelimit-reset-requests",
  "x-ratelimit-reset-ms",
  "x-sib-ratelimit-remaining",
  "x-sib-ratelimit-reset",
  "anthropic-ratelimit-requests-remaining",
  "anthropic-ratelimit-requests-reset",
  "date",
] as const;

export function advise(status: number, headers: Headers, wallNowMs: number = NOW_MS): AnswerHints {
  return answerHintsOn(status, headers, wallNowMs);
}

function expectCount(value: number | undefined, least: number): void {
  if (value === undefined) return;
  expect(Number.isFinite(value)).toBe(true);
  expect(value).toBeGreaterThanOrEqual(least);
}

export function expectSane(hints: AnswerHints, fields: number): void {
  expectCount(hints.pause?.forMs, 0);
  for (const { requests, perMs } of limitsOf(hints.families)) {
    expectCount(requests, Number.MIN_VALUE);
    expectCount(perMs, Number.MIN_VALUE);
  }
  expectCount(hints.remaining?.requests, 0);
  expectCount(hints.remaining?.limit, Number.MIN_VALUE);
  expectCount(hints.remaining?.resetMs, 0);
  expectCount(hints.exhaustedPerMs, Number.MIN_VALUE);
  expectCount(hints.malformed, 0);
  expect(hints.malformed).toBeLessThanOrEqual(fields);
}
