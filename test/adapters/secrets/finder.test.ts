import * as fc from "fast-check";
import { expect, test } from "vitest";
import { SecretFinder } from "../../../src/adapters/secrets/finder.ts";

const redact = (text: string, secrets: readonly string[]): string => new SecretFinder(secrets).hide(text);

const SECRET = 'test/key+1 "quoted"=';

test.each([
  ["as it is", SECRET],
  ["in a URL", encodeURIComponent(SECRET)],
  ["in a URL, in small letters", encodeURIComponent(SECRET).replaceAll(/%../g, (hex) => hex.toLowerCase())],
  ["in a form", new URLSearchParams({ key: SECRET }).toString().slice(4)],
  ["in JSON", JSON.stringify(SECRET).slice(1, -1)],
  ["in JSON as PHP writes it", JSON.stringify(SECRET).slice(1, -1).replaceAll("/", "\\/")],
  ["in base64", Buffer.from(SECRET).toString("base64")],
])("a secret %s is replaced", (_, form) => {
  expect(redact(`before ${form} after ${form}`, [SECRET])).toBe("before <secret> after <secret>");
});

const SIGNS = String.raw`test&<>"'/\ key;=+`;

test.each([
  [
    "in JSON as Go writes it",
    JSON.stringify(SIGNS).replace(/[&<>]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`),
  ],
  ["in JSON in JSON", JSON.stringify(JSON.stringify(SIGNS))],
  ["in HTML", SIGNS.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")],
  ["in HTML, by number", SIGNS.replaceAll(/\W/g, (sign) => `&#${sign.charCodeAt(0)};`)],
  [
    "in HTML, by number of the other kind",
    SIGNS.replaceAll(/\W/g, (sign) => `&#x0${sign.charCodeAt(0).toString(16)};`),
  ],
  [
    "in HTML in HTML",
    SIGNS.replaceAll("&", "&amp;amp;").replaceAll("<", "&amp;lt;").replaceAll('"', "&amp;quot;"),
  ],
  ["in a URL in a URL", encodeURIComponent(encodeURIComponent(SIGNS))],
  ["in small letters", SIGNS.toLowerCase()],
  ["in a form, in small letters", new URLSearchParams({ k: SIGNS }).toString().slice(2).toLowerCase()],
  [
    "with some signs escaped and some not",
    SIGNS.replace("/", "%2f")
      .replace("<", "&lt;")
      .replace('"', String.raw`\"`),
  ],
])("a secret with signs of every kind leaves no word of it %s", (_, form) => {
  const left = redact(`before ${form} after`, [SIGNS]);
  expect(left).toMatch(/^before "*\\*"*<secret>"*\\*"* after$/);
});

test.each([
  ["very long ones", "+/=&%'<>; ".repeat(1_000)],
  ["long ones of signs alone", "+/=&%'<>; ".repeat(50)],
  ["those with many backslashes", String.raw`a\\\\\\\\\\\\`.repeat(20)],
])("%s are found as they are, and looking for them takes no time", (_, secret) => {
  const finder = new SecretFinder([secret]);
  expect(finder.hide(`before ${secret} after`)).toBe("before <secret> after");
  const almost = `${secret.slice(1)}x`.repeat(20);
  expect(finder.hide(almost)).toBe(almost);
});

test("a secret behind a user name in base64 leaves nothing that can be read", () => {
  for (const user of ["", "a", "ab", "abc", "user"]) {
    const text = Buffer.from(`${user}:${SECRET}`).toString("base64");
    const left = redact(`Basic ${text}`, [SECRET]).replace("Basic ", "");
    expect(left).toContain("<secret>");
    const readable = left.split("<secret>").map((part) => Buffer.from(part, "base64").toString());
    expect(readable.join("")).not.toContain("key");
  }
});

test("letters of other alphabets are found escaped, also where their small form is one of ours", () => {
  // The sign of the kelvin: its small letter is a plain k.
  const secret = "\u212aelvin-test-\u0130-key";
  expect(redact(`before ${encodeURIComponent(secret)} after`, [secret])).toBe("before <secret> after");
  expect(redact(JSON.stringify({ key: secret }), [secret])).toBe('{"key":"<secret>"}');
});

test("a secret that contains another goes as a whole", () => {
  expect(redact("test-key-12", ["test-key-1", "test-key-12"])).toBe("<secret>");
});

test("text without a secret, and an empty secret, change nothing", () => {
  expect(redact("nothing to hide", [SECRET, ""])).toBe("nothing to hide");
  expect(redact("nothing to hide", [])).toBe("nothing to hide");
});

test("no secret survives in any text", () => {
  const visible = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    minLength: 8,
    maxLength: 40,
  });
  fc.assert(
    fc.property(visible, fc.string(), fc.string(), (secret, before, after) => {
      fc.pre(!"<secret>".includes(secret));
      expect(redact(`${before}${secret}${after}`, [secret])).not.toContain(secret);
      const encoded = Buffer.from(`${before}${secret}${after}`).toString("base64");
      const left = redact(encoded, [secret]).split("<secret>");
      expect(left.some((part) => Buffer.from(part, "base64").toString("latin1").includes(secret))).toBe(
        false,
      );
    }),
    { seed: 20261121, numRuns: 300 },
  );
});
