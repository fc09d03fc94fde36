import { expect, test } from "vitest";
import { classify } from "../../../src/core/poll/classify.ts";
import { growth } from "../../support/growth.ts";
import { answered } from "../../support/samples.ts";

/** Of 16 times the length: 16 if the work grows as the answer does, 256 if it grows as its square. */
const MOST_GROWTH = 64;
const EXPECTATION = { status: [200], json: true, maxBodyBytes: 1_048_576 };
const PHRASES =
  "the limit of requests per rate quota for an invalid api key has been 0 in your country so wait until 1h ";

test.each([
  ["words", (words: string) => JSON.stringify({ error: { message: words } })],
  ["a page", (words: string) => `<html><body>${words}</body></html>`],
  ["text", (words: string) => words],
  ["open tags", (words: string) => "<".repeat(words.length)],
  [
    "fields",
    (words: string) =>
      JSON.stringify(words.split(" ").map((word) => ({ code: word, message: words.slice(0, 20) }))),
  ],
  ["open brackets", (words: string) => "[".repeat(words.length)],
])("the work on %s grows no faster than the answer", (_, bodyOf) => {
  const judging = (characters: number): (() => void) => {
    const words = PHRASES.repeat(Math.ceil(characters / PHRASES.length)).slice(0, characters);
    const exchange = answered(403, [], bodyOf(words));
    return () => void classify(exchange, EXPECTATION, undefined);
  };
  expect(growth(judging(4_000), judging(64_000))).toBeLessThan(MOST_GROWTH);
});
