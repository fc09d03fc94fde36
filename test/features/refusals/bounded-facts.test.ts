import { expect, test } from "vitest";

import { factsOf, REFUSAL_CODES, REFUSAL_VALUES } from "../../../src/features/refusals/facts.ts";
import { factsOfAnswer } from "../../../src/features/refusals/classify.ts";

/** An object of so many members, each of which tells when its value is looked at. */
function watched(members: number, value: () => unknown, onLook: () => void): object {
  return Object.defineProperties(
    {},
    Object.fromEntries(
      Array.from({ length: members }, (_, at) => [
        `&#65;${at}`,
        {
          enumerable: true,
          get: () => {
            onLook();
            return value();
          },
        },
      ]),
    ),
  );
}

test.each([
  ["names beside each other", (onLook: () => void) => watched(300, () => "quota exceeded", onLook)],
  [
    "objects full of names in an object",
    (onLook: () => void) => watched(100, () => watched(100, () => "x y", onLook), onLook),
  ],
  [
    "objects full of names in a list",
    (onLook: () => void) => Array.from({ length: 200 }, () => watched(100, () => 1, onLook)),
  ],
])("of a body that refuses, so many values are looked at as it may have, and no more: %s", (_, of) => {
  let looks = 0;
  const value = of(() => (looks += 1));
  const body = Buffer.from("{}");
  const { codes, sentences } = factsOf(body, () => ({ kind: "json", value }), false, []);
  expect(codes.length + sentences.length).toBeLessThanOrEqual(2 * REFUSAL_VALUES);
  expect(looks).toBeLessThanOrEqual(REFUSAL_VALUES);
});

test("of codes in headers, so many are read as a body may have, and no more", () => {
  const headers = Array.from({ length: 3_000 }, (_, at) => ["x-error-code", `QuotaExceeded${at}`] as const);
  const head = { status: 500, reasonPhrase: "", headers };
  const { codes } = factsOfAnswer(head, Buffer.from(""), () => ({ kind: "empty" }));
  expect(codes).toHaveLength(REFUSAL_CODES);
});

test.each(["<", "<b", "<style", "<style>p { color: red", "<script>quota()</scri"])(
  "a page that ends within %s says what it says without that",
  (end) => {
    const sentencesOf = (page: string): unknown =>
      factsOf(Buffer.from(page), () => ({ kind: "not_json" }), false, []).sentences;
    const page = "<h1>Too many requests</h1>";
    expect(sentencesOf(`${page}${end}`)).toEqual(sentencesOf(page));
  },
);
