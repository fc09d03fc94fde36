import { parseList } from "structured-headers";
import { expect, test, vi } from "vitest";

import {
  readAnswerHints,
  LIMIT_TEXTS_CHARS,
  LIMIT_VALUES_CHARS,
} from "../../../../src/features/hints/fields/answer-hints.ts";
import { wordsOfName } from "../../../../src/features/hints/fields/words.ts";
import type { Headers } from "../../../../src/kernel/exchange/exchange.ts";
import { HEAD_BYTES } from "../../../../src/transport/poll-client.ts";
import { MOST_LIMITS } from "../../../../src/features/hints/fields/limits.ts";

vi.mock("structured-headers", { spy: true });

function headersOf(count: number, header: (index: number) => readonly [string, string]): Headers {
  const headers = Array.from({ length: count }, (_, index) => header(index));
  let bytes = 0;
  return headers.filter(([name, value]) => (bytes += name.length + value.length + 4) <= HEAD_BYTES);
}

test.each<[string, Headers]>([
  ["long lists", headersOf(15, (at) => [`a${at}-ratelimit-limit`, "9,".repeat(2_000)])],
  ["as many lists as fit", headersOf(2_000, (at) => [`a${at}-ratelimit-limit`, "9,9,9,9,9,9,9,9"])],
  ["one list in many headers", headersOf(2_000, () => ["x-ratelimit-limit", "9,9,9,9,9,9,9,9"])],
  ["resets of as many names", headersOf(2_000, (at) => [`a${at}-ratelimit-reset`, "9"])],
  ["policies under one name", headersOf(2_000, (at) => ["ratelimit-policy", `"a${at}";q=9`])],
  ["policies under many names", headersOf(2_000, (at) => [`a${at}-ratelimit-policy`, '"a";q=9,"b";q=9'])],
  ["states under many names", headersOf(2_000, (at) => [`a${at}-ratelimit`, '"a";r=9,"b";r=9'])],
  ["dictionaries", headersOf(2_000, (at) => [`a${at}-ratelimit`, "limit=9,remaining=9"])],
  ["limits beside each other", headersOf(2_000, (at) => [`x-ratelimit-limit-a${at}-minute`, "9"])],
])(
  "an answer that is full of limits has few of them compared, and each byte is read once: %s",
  (_, headers) => {
    vi.mocked(parseList).mockClear();
    const { hints } = readAnswerHints({ status: 200, reasonPhrase: "", headers }, 0, String);
    const bytes = vi.mocked(parseList).mock.calls.reduce((sum, [text]) => sum + text.length, 0);
    expect(hints.families.length).toBeLessThanOrEqual(MOST_LIMITS);
    expect(hints.malformed).toBeGreaterThan(0);
    expect(hints.malformed).toBeLessThanOrEqual(headers.length);
    expect(bytes).toBeLessThanOrEqual(LIMIT_VALUES_CHARS);
  },
);

test("of more limits than anybody has, the first are kept, and each header that is left out is counted", () => {
  const headers = headersOf(40, (at) => [`x-ratelimit-limit-a${at}`, "9"]);
  const { families, malformed } = readAnswerHints(
    { status: 200, reasonPhrase: "", headers },
    0,
    String,
  ).hints;
  expect(families.map(({ key }) => key)).toContain("x-ratelimit  a0 ");
  expect({ kept: families.length, malformed }).toEqual({ kept: MOST_LIMITS, malformed: 8 });
});

test("the texts of all limits are searched for keys once, and so many of them as fit are kept", () => {
  const name = "a".repeat(80);
  const headers = headersOf(MOST_LIMITS, (at) => [`x-ratelimit-limit-${name}${at}`, "9"]);
  const searched: string[] = [];
  const { families, malformed } = readAnswerHints({ status: 200, reasonPhrase: "", headers }, 0, (text) => {
    searched.push(text);
    return text;
  }).hints;
  expect(searched).toHaveLength(1);
  expect(searched[0]?.length).toBeLessThanOrEqual(LIMIT_TEXTS_CHARS);
  expect(families.length).toBeGreaterThan(8);
  expect(families.length).toBeLessThan(MOST_LIMITS);
  expect(malformed).toBe(1);
});

/** With two ways to cut each "perday", it would take longer than anybody lives. */
test("there is one way to cut a name into words, so its length decides how long that takes", () => {
  const name = `${"perday".repeat(60)}x`;
  expect(wordsOfName(name)).toEqual([name]);
});
