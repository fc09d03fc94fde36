import * as fc from "fast-check";
import { expect, test } from "vitest";

import type { Headers } from "../../../../src/kernel/exchange/exchange.ts";
import { advise, expectSane, NAMES } from "./sane.ts";
import { limitsOf } from "../../../../src/features/hints/fields/limits.ts";
import { CODE_POINT } from "../../../support/code-point.ts";

const SEED = 20_261_120;

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
  fc.string({ unit: CODE_POINT, maxLength: 40 }),
  fc.array(PIECES, { maxLength: 8 }).map((pieces) => pieces.join("")),
  fc.integer().map(String),
  fc.double().map(String),
  fc.nat().map(String),
);
const HEADERS: fc.Arbitrary<Headers> = fc.array(fc.tuple(fc.constantFrom(...NAMES), VALUE), {
  maxLength: 12,
});
const STATUS = fc.constantFrom(200, 204, 301, 404, 429, 402, 503, 500);

test("whatever bytes an upstream sends, its hints are sane", () => {
  fc.assert(
    fc.property(STATUS, HEADERS, fc.nat({ max: 2 ** 42 }), (status, headers, wallNowMs) => {
      const hints = advise(status, headers, wallNowMs);
      expectSane(hints, headers.length);
      expect(hints.throttled).toBe(status === 429 || status === 402);
    }),
    { seed: SEED, numRuns: 800 },
  );
});

test("garbage in every field is counted once for each, and says nothing", () => {
  const garbage = fc.string({ unit: CODE_POINT, minLength: 1, maxLength: 40 }).map((text) => `\u0001${text}`);
  const fields = fc.array(fc.constantFrom(...NAMES.filter((name) => name !== "date")), { maxLength: 12 });
  fc.assert(
    fc.property(fields, garbage, (names, value) => {
      const headers = names.map((name) => [name, value] as const);
      const nothing = {
        pause: undefined,
        families: [],
        remaining: undefined,
        exhaustedPerMs: undefined,
      };
      expect(advise(429, headers)).toEqual({ ...nothing, throttled: true, malformed: names.length });
    }),
    { seed: SEED, numRuns: 400 },
  );
});

test("another garbled field never loosens what the others say", () => {
  fc.assert(
    fc.property(STATUS, HEADERS, fc.constantFrom(...NAMES), (status, headers, name) => {
      fc.pre(!["date", "ratelimit", "ratelimit-policy"].includes(name));
      const before = advise(status, headers);
      const after = advise(status, [...headers, [name, "\u0001"]]);
      const isRetryAfter = name.endsWith("retry-after") || name.endsWith("retry-after-ms");
      const isHeeded = !isRetryAfter || status !== 200;
      expect(after).toEqual({ ...before, malformed: before.malformed + (isHeeded ? 1 : 0) });
    }),
    { seed: SEED, numRuns: 400 },
  );
});

const WORDS = fc.constantFrom(
  ..."x rate limit ratelimit requests tokens remaining reset interval ms day 24hour policy used quota left bucket".split(
    " ",
  ),
);
const NAME = fc.oneof(
  fc.array(WORDS, { minLength: 1, maxLength: 7 }).map((words) => words.join("-")),
  fc.string({ unit: CODE_POINT, maxLength: 120 }).map((text) => `limit${text}`),
);

test("whatever a header is called, its hints are sane, and only requests are limits", () => {
  const headers: fc.Arbitrary<Headers> = fc.array(fc.tuple(NAME, VALUE), { maxLength: 12 });
  fc.assert(
    fc.property(STATUS, headers, (status, lines) => {
      const hints = advise(status, lines);
      expectSane(hints, lines.length);
      const others = hints.families.filter(({ unit }) => unit !== "requests");
      expect(limitsOf(others)).toEqual([]);
      for (const { key, unit } of hints.families) expect(key.length + unit.length).toBeLessThan(5000);
    }),
    { seed: SEED, numRuns: 800 },
  );
});

test("an answer that was read once is read the same again", () => {
  const headers: fc.Arbitrary<Headers> = fc.array(fc.tuple(NAME, VALUE), { maxLength: 6 });
  fc.assert(
    fc.property(headers, (lines) => {
      expect(advise(200, lines)).toEqual(advise(200, lines));
    }),
    { seed: SEED, numRuns: 500 },
  );
});
