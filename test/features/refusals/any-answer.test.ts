import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import { LONGEST_WAIT_MS } from "../../../src/features/hints/fields/time-in.ts";
import type { Exchange, Headers } from "../../../src/kernel/exchange/exchange.ts";
import { judgeExchange } from "../../support/judged.ts";
import { answerHintsOn } from "../../support/answer-hints.ts";
import { CODE_POINT } from "../../support/code-point.ts";

const SEED = 20_261_122;
const NOW_MS = Date.UTC(2026, 10, 20, 12, 0, 0);
const EXPECTATION = { status: [200], json: true, maxBodyBytes: 1_048_576 };

const PHRASES = fc.constantFrom(
  "rate limit",
  "exceeded",
  "quota",
  "insufficient",
  "credits",
  "api key",
  "invalid",
  "access token",
  "expired",
  "permission",
  "too many requests",
  "per minute",
  "per day",
  "blocked",
  "firewall",
  "captcha",
  "country",
  "not supported",
  "try again in",
  "1h2m3s",
  "retry after",
  "99999999999999",
  "22.14:18:12",
  "reference #18.",
  "until",
  "余额不足",
  "overloaded",
  "user agent",
  "error code: 1015",
  " ",
  "\n",
  "1e308",
  "-1",
  "NaN",
);
const TEXT = fc.oneof(
  fc.array(PHRASES, { maxLength: 40 }).map((parts) => parts.join(" ")),
  fc.string({ unit: CODE_POINT, maxLength: 200 }),
);
const KEY = fc.constantFrom(
  "code",
  "type",
  "status",
  "error",
  "message",
  "retry_after",
  "reset_at",
  "__proto__",
  "data",
  "details",
  "errorCode",
  "url",
);
const VALUE = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    TEXT,
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    tie("list"),
    tie("map"),
  ),
  list: fc.array(tie("value"), { maxLength: 4 }),
  map: fc.array(fc.tuple(KEY, tie("value")), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
})).value;
const BODY = fc.oneof(
  VALUE.map((value) => JSON.stringify(value) ?? ""),
  TEXT,
  TEXT.map((text) => `<html><title>${text}</title><script>${text}</script><Code>${text}</Code>${text}`),
  TEXT.map((text) => `{"error": "${text}`),
);
const HEADERS: fc.Arbitrary<Headers> = fc.array(
  fc.tuple(
    fc.constantFrom(
      "retry-after",
      "retry-after-ms",
      "x-ratelimit-reset-after",
      "content-type",
      "date",
      "cf-mitigated",
      "www-authenticate",
      "x-ratelimit-remaining",
      "x-ratelimit-delay",
    ),
    fc.oneof(
      TEXT,
      fc.double().map(String),
      fc.nat().map(String),
      fc.constantFrom("application/problem+json", "31536000", "1e308"),
    ),
  ),
  { maxLength: 5 },
);

function answered(status: number, headers: Headers, body: string): Extract<Exchange, { kind: "answered" }> {
  return {
    kind: "answered",
    head: { status, reasonPhrase: "", headers },
    body: new TextEncoder().encode(body),
  };
}

test("whatever is answered, it is judged: one sentence without a piece of it, and a wait that has an end", () => {
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 999 }), HEADERS, BODY, (status, headers, body) => {
      const exchange = answered(status, headers, body);
      const { outcome, detail } = judgeExchange(exchange, EXPECTATION, undefined, String);
      expect(detail.length).toBeLessThan(200);
      expect(detail).not.toMatch(/\p{Cc}|\u2028|\u2029/u);
      expect(status === 429 || status === 402 ? outcome.kind : "failed").not.toBe("ok");
      const { pause, malformed } = answerHintsOn(status, headers, NOW_MS, body);
      expect(pause?.forMs ?? 0).toBeGreaterThanOrEqual(0);
      expect(pause?.forMs ?? 0).toBeLessThanOrEqual(LONGEST_WAIT_MS);
      expect(malformed).toBeLessThan(40);
    }),
    { seed: SEED, numRuns: 800 },
  );
});

const SECRET = "test-key-4f9a1c";

test("no key that an upstream echoes comes into the detail, wherever in a refusal it stands", () => {
  const bodies = [
    { error: { message: `Invalid API key ${SECRET}`, code: SECRET } },
    { [SECRET]: { message: "Rate limit exceeded", [SECRET]: "insufficient_quota" } },
    { errors: [{ [SECRET]: "Maximum credits exceeded" }] },
  ];
  for (const status of [400, 401, 403, 418, 429, 500, 503]) {
    for (const body of bodies) {
      const { detail } = judgeExchange(
        answered(status, [], JSON.stringify(body)),
        EXPECTATION,
        undefined,
        String,
      );
      expect(detail).not.toContain("4f9a1c");
    }
  }
});

test("a code of one long word takes no longer than any other", () => {
  for (const code of ["a".repeat(4_000), "aB".repeat(2_000), "a-".repeat(2_000)]) {
    const body = JSON.stringify({ code: `${code}!`, message: "hello" });
    expect(judgeExchange(answered(200, [], body), EXPECTATION, undefined, String).outcome.kind).toBe("ok");
  }
});

test("an ok answer that names its state, and a quota in words, stays ok", () => {
  const body = JSON.stringify({ status: "active", message: "Your quota of 1000 requests per day" });
  expect(judgeExchange(answered(200, [], body), EXPECTATION, undefined, String).outcome.kind).toBe("ok");
});

const PHRASES_IN_A_ROW =
  "the limit of requests per rate quota for an invalid api key has been 0 in your country so wait until 1h ";

/** How often a word or a beginning of one is looked up. */
function looksAt(status: number, body: string): number {
  const look = vi.spyOn(Map.prototype, "get");
  try {
    judgeExchange(answered(status, [], body), EXPECTATION, undefined, String);
    return look.mock.calls.length;
  } finally {
    look.mockRestore();
  }
}

test.each([
  ["words", (words: string) => JSON.stringify({ error: { message: words } })],
  ["codes", (words: string) => JSON.stringify({ codes: words.split(" ").map((word) => word.repeat(20)) })],
  ["a page", (words: string) => `<html><body>${words}</body></html>`],
  ["text", (words: string) => words],
  ["Chinese", (words: string) => words.replaceAll(/\w/g, "额")],
  [
    "fields",
    (words: string) =>
      JSON.stringify(
        words
          .split(" ")
          .slice(0, 50)
          .map((word) => ({ code: word, message: words })),
      ),
  ],
])("the looks at %s have a bound, however long the answer is", (_, bodyOf) => {
  const looks = [4_000, 64_000, 512_000].map((characters) =>
    looksAt(403, bodyOf(PHRASES_IN_A_ROW.repeat(characters / PHRASES_IN_A_ROW.length))),
  );
  expect(looks[0]).toBeGreaterThan(100);
  expect(Math.max(...looks)).toBeLessThan(8_000);
});
