import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { nameSourcesInStackTraces } from "../../src/platform/stack-traces.ts";

const before = Object.getOwnPropertyDescriptor(Error, "prepareStackTrace");
let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pacewatch-stack-"));
  nameSourcesInStackTraces();
});

afterEach(() => {
  Reflect.deleteProperty(Error, "prepareStackTrace");
  if (before !== undefined) Object.defineProperty(Error, "prepareStackTrace", before);
  rmSync(folder, { recursive: true });
});

/** What the trace of an error says of a place in a bundle with this map. */
function placeInTrace(map: string | undefined): string {
  const file = join(folder, "bundle.mjs");
  if (map !== undefined) writeFileSync(`${file}.map`, map);
  const frame = { toString: () => `fail (${pathToFileURL(file).href}:2:17)` } as NodeJS.CallSite;
  const written: unknown = Error.prepareStackTrace?.(new Error("why"), [frame]);
  return String(written).split("\n")[1] ?? "";
}

/** "AAAA" is the first place of the first source; in the second line it is line 7 and column 3 of that source. */
const MAP = JSON.stringify({
  version: 3,
  sources: ["../../src/kernel/why.ts"],
  names: [],
  mappings: ";AAME",
});

test("a stack trace of the bundle names the source, as its map has it", () => {
  expect(placeInTrace(MAP)).toBe("    at fail (src/kernel/why.ts:7:3)");
});

test("a file without a map, or with one that says nothing of the place, is named as it is", () => {
  const own = /bundle\.mjs:2:17\)$/;
  expect(placeInTrace(undefined)).toMatch(own);
  nameSourcesInStackTraces();
  const silent = JSON.stringify({ version: 3, sources: [], names: [], mappings: "" });
  expect(placeInTrace(silent)).toMatch(own);
});

test("an error that cannot be written as text has a trace nevertheless", () => {
  const error = Object.assign(new Error("why"), {
    toString: () => {
      throw new Error("no text");
    },
  });
  Error.captureStackTrace(error);
  expect(error.stack).toMatch(/^Error\n {4}at /);
});
