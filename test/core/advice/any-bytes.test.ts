import * as fc from "fast-check";
import { expect, test } from "vitest";

import { parseStructuredList } from "../../../src/adapters/structured-headers.ts";
import { readAdvice, type Advice } from "../../../src/core/advice/advice.ts";
import type { Headers } from "../../../src/core/exchange/exchange.ts";

const NOW_MS = Date.UTC(2026, 10, 20, 12, 0, 0);
const SEED = 20_261_120;

const NAMES = [
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

const PIECES = fc.constantFrom(
  ..."0123456789".split(""),
  ...'dhmsurtqw=;,.:-+"\\() Z\t\u0000\u00ff'.split(""),
  "limit=",
  "remaining=",
  "reset=",
  '"a";q=10;w=60',
  '"a";r=0;t=30',
  "100;w=60",
  "1ms",
  "1763640000",
  "1795176000000",
  "999999999999999",
  "Fri, 20 Nov 2026 12:00:30 GMT",
  "2026-11-20T12:00:30Z",
  "Fri Nov 20 2026 13:00:02 GMT+0100 (CET)",
);
const VALUE = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.array(PIECES, { maxLength: 8 }).map((pieces) => pieces.join("")),
  fc.integer().map(String),
  fc.double().map(String),
  fc.nat().map(String),
);
const HEADERS: fc.Arbitrary<Headers> = fc.array(fc.tuple(fc.constantFrom(...NAMES), VALUE), {
  maxLength: 12,
});
const STATUS = fc.constantFrom(200, 204, 301, 404, 429, 402, 503, 500);

function advise(status: number, headers: Headers, wallNowMs: number = NOW_MS): Advice {
  return readAdvice({ status, reasonPhrase: "", headers }, wallNowMs, parseStructuredList);
}

function expectCount(value: number | undefined, least: number): void {
  if (value === undefined) return;
  expect(Number.isFinite(value)).toBe(true);
  expect(value).toBeGreaterThanOrEqual(least);
}

function expectSane(advice: Advice, fields: number): void {
  expectCount(advice.pause?.forMs, 0);
  for (const { requests, perMs } of advice.limits) {
    expectCount(requests, 1);
    expect(Number.isSafeInteger(requests)).toBe(true);
    expectCount(perMs, Number.MIN_VALUE);
  }
  expectCount(advice.remaining?.requests, 0);
  expectCount(advice.remaining?.limit, 1);
  expectCount(advice.remaining?.resetMs, 0);
  expectCount(advice.exhaustedPerMs, Number.MIN_VALUE);
  expectCount(advice.malformed, 0);
  expect(advice.malformed).toBeLessThanOrEqual(fields);
}

test("whatever bytes an upstream sends, the advice is sane", () => {
  fc.assert(
    fc.property(STATUS, HEADERS, fc.nat({ max: 2 ** 42 }), (status, headers, wallNowMs) => {
      const advice = advise(status, headers, wallNowMs);
      expectSane(advice, headers.length);
      expect(advice.throttled).toBe(status === 429 || status === 402);
    }),
    { seed: SEED, numRuns: 5_000 },
  );
});

test("garbage in every field is counted once for each, and says nothing", () => {
  const garbage = fc.string({ unit: "binary", minLength: 1, maxLength: 40 }).map((text) => `\u0001${text}`);
  const fields = fc.array(fc.constantFrom(...NAMES.filter((name) => name !== "date")), { maxLength: 12 });
  fc.assert(
    fc.property(fields, garbage, (names, value) => {
      const headers = names.map((name) => [name, value] as const);
      // The two structured fields are each one list, however many lines bring it.
      const joined = new Set(["ratelimit", "ratelimit-policy"]);
      const separate = names.filter((name) => !joined.has(name)).length;
      const malformed = separate + new Set(names.filter((name) => joined.has(name))).size;
      const nothing = { pause: undefined, limits: [], remaining: undefined, exhaustedPerMs: undefined };
      expect(advise(429, headers)).toEqual({ ...nothing, throttled: true, malformed });
    }),
    { seed: SEED, numRuns: 2000 },
  );
});

test("another garbled field never loosens what the others say", () => {
  fc.assert(
    fc.property(STATUS, HEADERS, fc.constantFrom(...NAMES), (status, headers, name) => {
      fc.pre(!["date", "ratelimit", "ratelimit-policy"].includes(name));
      const before = advise(status, headers);
      const after = advise(status, [...headers, [name, "\u0001"]]);
      const isRetryAfter = name.endsWith("retry-after") || name.endsWith("retry-after-ms");
      const isHeeded = !isRetryAfter || [429, 402, 503].includes(status);
      expect(after).toEqual({ ...before, malformed: before.malformed + (isHeeded ? 1 : 0) });
    }),
    { seed: SEED, numRuns: 2000 },
  );
});

test.each([
  ["digits", "9"],
  ["commas", ","],
  ["quotes", '"'],
  ["semicolons", "100;"],
  ["limits", "1,"],
  ["durations", "1h"],
  ["backslashes", '"\\'],
  ["brackets", "("],
  ["members", '"a";q=1,'],
  ["parameters", '"a";q=1;b'],
  ["members of a dictionary", "limit=1,"],
  ["zone names", "Fri Nov 20 2026 13:00:02 GMT+0100 ("],
  ["hyphens", "-1"],
])("half a megabyte of %s in every field is read through", (_, piece) => {
  const value = piece.repeat(Math.ceil(500_000 / piece.length));
  const headers = NAMES.map((name) => [name, value] as const);
  const advice = advise(429, headers);
  expectSane(advice, headers.length);
  expect(advice.throttled).toBe(true);
});

test("a name of half a megabyte is read through", () => {
  for (const part of ["x-", "x-rate", "a", "x-ratelimit-", "rate-limit-remaining-"]) {
    const name = part.repeat(Math.ceil(500_000 / part.length));
    expect(advise(429, [[name, "0"]])).toMatchObject({ throttled: true, limits: [] });
  }
});
