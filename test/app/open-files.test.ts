import { expect, test } from "vitest";
import { connectionsLeft, limitNeeded, readOpenFiles } from "../../src/app/open-files.ts";

const FEW = { limit: 64, open: 33 };
const NOT_TOLD = { limit: Number.POSITIVE_INFINITY, open: 0 };

test("clients may have what polls and threads leave, and never none", () => {
  expect(connectionsLeft({ limit: 1024, open: 30 }, 500)).toBe(458);
  expect(connectionsLeft(FEW, 2)).toBe(8);
  expect(connectionsLeft(NOT_TOLD, 2)).toBe(Number.POSITIVE_INFINITY);
});

test("a limit that does is not told, and one that does not is, with what would do", () => {
  expect(limitNeeded({ limit: 1024, open: 30 }, 500, 256)).toBeUndefined();
  expect(limitNeeded({ limit: 1024, open: 30 }, 1000, 256)).toBe(1322);
  expect(limitNeeded(FEW, 2, 256)).toBe(327);
  expect(limitNeeded(NOT_TOLD, 2, 256)).toBeUndefined();
});

test.skipIf(process.platform !== "linux")("Linux tells both", () => {
  const files = readOpenFiles();
  expect(files.open).toBeGreaterThan(2);
  expect(files.limit).toBeGreaterThan(files.open);
});
