import { expect, test } from "vitest";
import { formatDuration, parseDuration } from "../../../src/kernel/time/duration.ts";

test.each([
  ["500ms", 500],
  ["15s", 15_000],
  ["1m", 60_000],
  ["1h", 3_600_000],
  ["30d", 2_592_000_000],
  ["0s", 0],
])("%s is %i milliseconds", (text, durationMs) => {
  expect(parseDuration(text)).toBe(durationMs);
});

test.each(["", "15", "s", "1.5s", "-1s", " 1s", "1 s", "1S", "1h30m", "1w", "999999999999d", "1constructor"])(
  "%j is not a duration",
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);

test.each([
  [0, "0s"],
  [500, "500ms"],
  [1000, "1s"],
  [1500, "1500ms"],
  [60_000, "1m"],
  [90_000, "90s"],
  [3_600_000, "1h"],
  [86_400_000, "1d"],
  [333.3, "333ms"],
])("%d milliseconds are called %s", (durationMs, text) => {
  expect(formatDuration(durationMs)).toBe(text);
});

test("every duration that is written is read back as itself", () => {
  for (const durationMs of [1, 999, 1001, 59_000, 61_000, 3_599_000, 7_200_000, 86_400_000 * 366]) {
    expect(parseDuration(formatDuration(durationMs))).toBe(durationMs);
  }
});
