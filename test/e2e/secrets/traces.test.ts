import { expect, it } from "vitest";
import { oneLine } from "../../../src/kernel/text/escape.ts";
import { WRITINGS } from "../../support/written.ts";
import { CANARIES } from "./canaries.ts";
import { echoesIn, tracesOf } from "./traces.ts";

/** The judge of secrets.long.test.ts. */

it.each([
  ["as it is", (key: string) => key],
  ["percent-encoded twice", (key: string) => encodeURIComponent(encodeURIComponent(key))],
  ["in JSON", (key: string) => JSON.stringify(key)],
  ["in entities", (key: string) => key.replaceAll(/[^a-z]/g, (sign) => `&#${sign.charCodeAt(0)};`)],
  ["in base64", (key: string) => Buffer.from(key).toString("base64")],
  ["in base64, behind a word", (key: string) => Buffer.from(`Bearer ${key}`).toString("base64")],
  ["in base64url, behind a user", (key: string) => Buffer.from(`us:${key}`).toString("base64url")],
  ["in base64 in JSON", (key: string) => JSON.stringify({ a: Buffer.from(`{${key}`).toString("base64") })],
])("finds a key %s", (_, write) => {
  for (const { core, key } of Object.values(CANARIES)) {
    expect(tracesOf([core], `before ${write(key)} after`)).not.toEqual([]);
    expect(tracesOf([core], "before <secret> after")).toEqual([]);
  }
});

it.each(Object.entries(WRITINGS))("finds a key %s, on a page and in an answer of the API", (_, write) => {
  for (const { key } of Object.values(CANARIES)) {
    const excerpt = oneLine(`before ${write(key)} after`, 100_000);
    const page = excerpt.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
    for (const place of [excerpt, JSON.stringify({ excerpt }), page]) {
      expect(echoesIn([key], place)).not.toEqual([]);
    }
    expect(echoesIn([key], "before <secret> after")).toEqual([]);
  }
});
