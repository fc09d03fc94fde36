import * as fc from "fast-check";
import { expect, test } from "vitest";

import { capText, codeOf, escapeText, oneLine } from "../../../src/kernel/text/escape.ts";
import { CODE_POINT } from "../../support/code-point.ts";

test("text without dangers stays as it is", () => {
  const text = "Grüße, 世界 🎉 <b>&\"'\\n";
  expect(oneLine(text)).toBe(text);
  expect(oneLine("")).toBe("");
});

test.each([
  ["\u0000", "\\u0000"],
  ["\n", "\\n"],
  ["\u001b", "\\u001b"],
  ["\u007f", "\\u007f"],
  ["\u0085", "\\u0085"],
  ["\u009b", "\\u009b"],
  ["\u061c", "\\u061c"],
  ["\u200b", "\\u200b"],
  ["\u200f", "\\u200f"],
  ["\u2028", "\\u2028"],
  ["\u2029", "\\u2029"],
  ["\u202e", "\\u202e"],
  ["\u2066", "\\u2066"],
  ["\ufeff", "\\ufeff"],
  ["\ud800", "\\ud800"],
  ["\u{e0041}", "\\u{e0041}"],
])("what would move, hide or break a line is written out: %j", (character, escaped) => {
  expect(escapeText(`a${character}b`)).toBe(`a${escaped}b`);
  expect(escapeText(escapeText(character))).toBe(escaped);
});

test("what is too long ends with an ellipsis, and no escape and no character is cut in two", () => {
  expect(capText("abcdef", 6)).toBe("abcdef");
  expect(capText("abcdef", 5)).toBe("abcd…");
  expect(capText("ab🎉cd", 4)).toBe("ab…");
  expect(oneLine("ab\u202ecd", 7)).toBe("ab…");
  expect(oneLine("ab\u202e", 8)).toBe("ab\\u202e");
  expect(oneLine("abc", 1)).toBe("…");
  expect(oneLine("abc", 0)).toBe("");
});

test("whatever comes in, one printable line of bounded length goes out", () => {
  fc.assert(
    fc.property(fc.string({ unit: CODE_POINT }), fc.integer({ min: 1, max: 60 }), (text, maxChars) => {
      const line = oneLine(text, maxChars);
      expect(line.length).toBeLessThanOrEqual(maxChars);
      expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
    }),
  );
});

test.each([
  [Object.assign(new Error("no file"), { code: "ENOENT" }), "ENOENT"],
  [{ code: "ENOENT" }, "ENOENT"],
  [{ code: 2 }, undefined],
  [new Error("no code"), undefined],
  ["ENOENT", undefined],
  [null, undefined],
  [undefined, undefined],
])("whatever is thrown, its code is asked for: %o has %s", (thrown, code) => {
  expect(codeOf(thrown)).toBe(code);
});
