import * as fc from "fast-check";
import { expect, test } from "vitest";

import { structuredItemsIn } from "../../../../src/features/hints/fields/structured-fields.ts";
import { CODE_POINT } from "../../../support/code-point.ts";

function read(text: string): unknown {
  return structuredItemsIn(text)?.map(({ name, parameters }) => [name, Object.fromEntries(parameters)]);
}

test.each([
  ['"default";r=50;t=30', [["default", { r: 50, t: 30 }]]],
  [
    '"burst";q=100;w=60,"daily";q=1000;w=86400',
    [
      ["burst", { q: 100, w: 60 }],
      ["daily", { q: 1000, w: 86_400 }],
    ],
  ],
  ["burst;q=100;qu=requests", [["burst", { q: 100, qu: "requests" }]]],
  ['"peruser";q=100;w=60;pk=:cHsdsRa894==:', [["peruser", { q: 100, w: 60, pk: "cHsdsRa89w==" }]]],
  [
    '"100-in-15min"; q=100; w=900; pk=:ZjQxMTE4MTQ3YzZm:',
    [["100-in-15min", { q: 100, w: 900, pk: "ZjQxMTE4MTQ3YzZm" }]],
  ],
  ['"a \\"b\\"";r=0;acme-hard;acme-factor=1.5', [['a "b"', { r: 0, "acme-hard": true, "acme-factor": 1.5 }]]],
  ["", []],
])("%s is a list", (text, expected) => {
  expect(read(text)).toEqual(expected);
});

test.each([
  "100;w=60",
  ":AAAA:;r=1",
  "?1",
  '("a" "b");r=1',
  "limit=100, remaining=50, reset=30",
  '"default";r=50,',
  '"default;r=50',
  '"default" r=50',
  '"default";r=1000000000000000',
  '"default";pk=:no base64!:',
  '"default\\',
  '%"',
  "\u0000",
  '"ü";r=1',
])("%s is no list of names", (text) => {
  expect(structuredItemsIn(text)).toBeUndefined();
});

test("no text makes it throw", () => {
  const pieces = fc.constantFrom(
    '"',
    "a",
    ";",
    ",",
    "=",
    "q",
    "-1",
    "9",
    ".",
    ":",
    "?",
    "@",
    "%",
    "(",
    ")",
    " ",
    "\\",
  );
  const text = fc.oneof(
    fc.string({ unit: CODE_POINT }),
    fc.array(pieces).map((some) => some.join("")),
  );
  fc.assert(
    fc.property(text, (text) => {
      for (const { parameters } of structuredItemsIn(text) ?? []) {
        for (const value of parameters.values()) expect(value).not.toBeNaN();
      }
    }),
    { seed: 20_261_120, numRuns: 600 },
  );
});
