import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  SecretFinder,
  WITHHELD,
  SEARCHED_TEXT_CHARS,
  searchedChars,
} from "../../../src/transport/secrets/finder.ts";
import { KnownKeys } from "../../../src/transport/secrets/known-keys.ts";
import { oneLine } from "../../../src/kernel/text/escape.ts";
import { WRITINGS } from "../../support/written.ts";

const hide = (text: string, ...secrets: readonly string[]): string => new SecretFinder(secrets).hide(text);

const KEYS: Readonly<Record<string, string>> = {
  plain: "test-key-4c1f0c9a7e2b5d83",
  "with every sign": String.raw`test-key+/=&%"'<>\ ;4c1f0c9a7e2b/+==`,
  "of a thousand characters": `test-key-${"4c1f0c9a7e2b5d83".repeat(62)}`,
  "of signs alone": "+/=&%'<>; +/=&%'<>; ",
};

describe.each(Object.entries(WRITINGS))("a key %s", (_, write) => {
  test.each(Object.entries(KEYS))("leaves nothing that shows it: one %s", (_, key) => {
    const text = oneLine(`no such key: ${write(key)} in this project`, 300);
    const left = hide(text, key);
    expect(left).toMatch(/<secret>|not kept/);
    expect(left.replaceAll(WITHHELD, "")).not.toMatch(/test|4c1f|3463|dGVzd|&%/i);
  });
});

describe("the provider's words stay", () => {
  test.each([
    '{"error":{"type":"rate_limit_exceeded","message":"You exceeded your current quota, please check your plan"}}',
    "<html><head><title>502 Bad Gateway</title></head><body><center>cloudflare-nginx/1.27</center></body></html>",
    '{"request_id":"req_011CSHoEeqs5C35K2UUqR7Fy","id":"3f2504e0-4f89-11d3-9a0c-0305e82c3301","ts":1790000000250}',
    "upstream connect error or disconnect/reset before headers. reset reason: connection termination",
    "x",
    "",
  ])("where no key is in them: %s", (text) => expect(hide(text, ...Object.values(KEYS))).toBe(text));

  test("around a key that stands there as it is, whole or in part", () => {
    const key = "test-key-4c1f0c9a7e2b5d83";
    expect(hide(`Incorrect key provided: ${key}. See the docs`, key)).toBe(
      "Incorrect key provided: <secret>. See the docs",
    );
    expect(hide("Incorrect key provided: test-key-4c****5d83", key)).toBe(
      "Incorrect key provided: <secret>****5d83",
    );
    expect(hide(`${key}${key},${key}`, key)).toBe("<secret>,<secret>");
  });

  test("in the lines of a report that hold no key", () => {
    const key = "test-key-4c1f0c9a7e2b5d83";
    const report = `TypeError: Invalid URL: ${encodeURIComponent(Buffer.from(key).toString("hex"))}\n    at poll`;
    expect(hide(report, key)).toBe(`${WITHHELD}\n    at poll`);
  });
});

test("of a report nothing is kept where a key is spread over lines, none of which shows it", () => {
  const key = "test-key-4c1f0c9a7e2b5d83";
  const keys = new KnownKeys([key]);
  expect(keys.hide(`Error: wrong\n${key.replaceAll(/.{6}/g, "$&\n")}\n    at poll`)).toBe(WITHHELD);
  expect(keys.hide(`Error: ${key}\n    at poll`)).toBe("Error: <secret>\n    at poll");
});

test.each(["&#7;", "&#10;", "&#157;", "&#x7;", "&#x9d;"])("a key is found between signs like %s", (sign) => {
  const key = "test-key-4c1f0c9a7e2b5d83";
  expect(hide(key.split("").join(sign), key)).not.toMatch(/4.*c.*1.*f/);
});

describe.each(["&#7;", "&#157;", "&#x7;", "&#x9d;", "%07", String.raw`\x07`, "=07", "é"])(
  "between signs like %s",
  (sign) => {
    test("a key in base64 is found", () => {
      const key = "test-key-4c1f0c9a7e2b5d83";
      const written = Buffer.from(key).toString("base64");
      expect(hide(written.split("").join(sign), key)).toBe(WITHHELD);
    });
  },
);

test("a secret that contains another goes as a whole", () => {
  expect(hide("test-key-12", "test-key-1", "test-key-12")).toBe("<secret>");
});

test("a short secret, which any text may contain, is not looked for", () => {
  expect(hide("an error in any word", "error", "")).toBe("an error in any word");
});

test("the same text is searched again with other keys", () => {
  const text = "one-test-key-1 two-other-key-2";
  expect(hide(text, "one-test-key-1")).toBe("<secret> two-other-key-2");
  expect(hide(text, "two-other-key-2")).toBe("one-test-key-1 <secret>");
});

test("no run of a key is left in any text, nor in what its base64 says", () => {
  const visible = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    minLength: 8,
    maxLength: 40,
  });
  fc.assert(
    fc.property(visible, fc.string(), fc.string(), fc.nat(8), (key, before, after, more) => {
      const part = key.slice(more > key.length - 8 ? 0 : more);
      expect(hide(`${before}${part}${after}`, key)).not.toContain(part);
      const encoded = Buffer.from(`${before}${part}${after}`).toString("base64");
      expect(hide(encoded, key)).toBe(WITHHELD);
    }),
    { seed: 20261121, numRuns: 500 },
  );
});

test("of a text that is too long to be searched, the rest is left out", () => {
  const text = "no key ".repeat(10_000);
  expect(hide(text, "test-key-4c1f0c9a7e2b5d83")).toBe(oneLine(text, SEARCHED_TEXT_CHARS));
});

test("a text that can be read in more ways than are searched is left out", () => {
  const words = "the quick brown fox ".repeat(150).trim();
  expect(hide(words, "test-key-4c1f0c9a7e2b5d83")).toBe(words);
  let nested = "harmless ".repeat(8);
  while (nested.length < 3_000) nested = Buffer.from(nested).toString("base64");
  expect(nested.length * 40).toBeGreaterThan(searchedChars(nested.length));
  expect(hide(nested, "test-key-4c1f0c9a7e2b5d83")).toBe(WITHHELD);
});
