import { expect, test } from "vitest";

import { durationAt, timeIn } from "../../../../src/features/hints/fields/time-in.ts";

const NOW_MS = Date.UTC(2026, 10, 20, 12, 0, 0);
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

function timeInSeconds(text: string): number | undefined {
  return timeIn(text, SECOND_MS, () => NOW_MS);
}

test.each([
  ["30", 30 * SECOND_MS],
  ["1.5", 1500],
  ["999999999", 999_999_999 * SECOND_MS],
  [String(NOW_MS / 1000 + 42), 42 * SECOND_MS],
  [String(NOW_MS + 42), 42],
  [String(NOW_MS - 42), -42],
  // A number as large as a moment that is near no moment counts seconds.
  ["1000000000", 1e12],
  ["1h2m3.5s", HOUR_MS + 2 * MINUTE_MS + 3500],
  ["250µs", 0.25],
  ["1 hour and 5 minutes", HOUR_MS + 5 * MINUTE_MS],
  ["2 days, 3 hrs", 51 * HOUR_MS],
  ["PT30S", 30 * SECOND_MS],
  ["P1D", 24 * HOUR_MS],
  ["30 more seconds", 30 * SECOND_MS],
  ["Tue, 1 Dec 2026 00:00:00 GMT", 252 * HOUR_MS],
  ["00:01:30", 90 * SECOND_MS],
  ["22.14:18:12.5", 22 * 24 * HOUR_MS + 14 * HOUR_MS + 18 * MINUTE_MS + 12_500],
  ["Fri, 20 Nov 2026 12:00:30 GMT", 30 * SECOND_MS],
  ["2026-11-20T11:59:30Z", -30 * SECOND_MS],
  ["2026-11-20 12:00:30", 30 * SECOND_MS],
  ["2026-11-20 14:00:30 +0200", 30 * SECOND_MS],
  ["2026-11-20 12:00:30.5 +0000 UTC", 30_500],
])("%s is a time", (text, ms) => {
  expect(timeInSeconds(text)).toBe(ms);
});

test.each(["", "soon", "-5", "+5", "1e3", "5x", "5s6m", "5s5s", "5s later", "P1M", "1:30", "31 Nov 2026"])(
  'no time is read of "%s"',
  (text) => {
    expect(timeInSeconds(text)).toBeUndefined();
  },
);

test("the clock of the upstream is asked only where a time may be a moment", () => {
  const ask = (): number => {
    throw new Error("asked");
  };
  expect(timeIn("30", SECOND_MS, ask)).toBe(30 * SECOND_MS);
  expect(timeIn("6m0s", SECOND_MS, ask)).toBe(6 * MINUTE_MS);
});

test("a duration at the beginning of a sentence ends where the sentence goes on", () => {
  const text = "1 hour and 5 minutes and try again";
  expect(durationAt(text)).toEqual({ ms: 65 * MINUTE_MS, end: text.indexOf(" and try") });
  expect(durationAt("5 requests a minute")).toBeUndefined();
});
