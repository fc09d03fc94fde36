import * as fc from "fast-check";
import { expect, test } from "vitest";

import { parseHttpDate } from "../../../src/kernel/time/http-date.ts";
import { CODE_POINT } from "../../support/code-point.ts";

const NOW_MS = Date.UTC(2026, 10, 20, 12, 0, 0);
const SEED = 20_261_120;

test.each([
  ["Sun, 06 Nov 1994 08:49:37 GMT", Date.UTC(1994, 10, 6, 8, 49, 37)],
  ["Sun, 06 Nov 1994 08:49:37 UTC", Date.UTC(1994, 10, 6, 8, 49, 37)],
  // Java's RFC_1123_DATE_TIME, PHP's DATE_RFC2822 and Python's formatdate.
  ["Sun, 6 Nov 1994 08:49:37 GMT", Date.UTC(1994, 10, 6, 8, 49, 37)],
  ["Sun, 06 Nov 1994 08:49:37 +0000", Date.UTC(1994, 10, 6, 8, 49, 37)],
  ["Sun, 06 Nov 1994 08:49:37 -0000", Date.UTC(1994, 10, 6, 8, 49, 37)],
  ["Sun, 06 Nov 1994 03:49:37 -0500", Date.UTC(1994, 10, 6, 8, 49, 37)],
  ["Sunday, 06-Nov-94 08:49:37 GMT", Date.UTC(1994, 10, 6, 8, 49, 37)],
  ["Sun Nov  6 08:49:37 1994", Date.UTC(1994, 10, 6, 8, 49, 37)],
  ["Wed Nov 16 08:49:37 1994", Date.UTC(1994, 10, 16, 8, 49, 37)],
  ["1994-11-06T08:49:37Z", Date.UTC(1994, 10, 6, 8, 49, 37)],
  ["1994-11-06t08:49:37z", Date.UTC(1994, 10, 6, 8, 49, 37)],
  ["1994-11-06 08:49:37Z", Date.UTC(1994, 10, 6, 8, 49, 37)],
  ["1994-11-06T08:49:37.256Z", Date.UTC(1994, 10, 6, 8, 49, 37, 256)],
  ["1994-11-06T08:49:37.123456789Z", Date.UTC(1994, 10, 6, 8, 49, 37, 123)],
  ["1994-11-06T09:49:37+01:00", Date.UTC(1994, 10, 6, 8, 49, 37)],
  ["1994-11-06T03:19:37-05:30", Date.UTC(1994, 10, 6, 8, 49, 37)],
  ["1994-11-06T08:49Z", Date.UTC(1994, 10, 6, 8, 49)],
  ["Tue Feb 16 2021 09:02:42 GMT+0100 (CET)", Date.UTC(2021, 1, 16, 8, 2, 42)],
  ["Tue Feb 16 2021 09:02:42 GMT+0100 (Central European Standard Time)", Date.UTC(2021, 1, 16, 8, 2, 42)],
  ["Tue Feb 16 2021 09:02:42 GMT+0000", Date.UTC(2021, 1, 16, 9, 2, 42)],
  ["Thu, 29 Feb 2024 00:00:00 GMT", Date.UTC(2024, 1, 29)],
  ["Tue, 29 Feb 2000 23:59:59 GMT", Date.UTC(2000, 1, 29, 23, 59, 59)],
  ["Fri, 31 Dec 9999 23:59:59 GMT", Date.UTC(9999, 11, 31, 23, 59, 59)],
  ["Thu, 01 Jan 1970 00:00:00 GMT", 0],
  ["Wed, 31 Dec 1969 23:59:59 GMT", -1000],
  // The leap second at the end of 2016.
  ["Sat, 31 Dec 2016 23:59:60 GMT", Date.UTC(2017, 0, 1)],
])("%s is a date", (text, expectedMs) => {
  expect(parseHttpDate(text, NOW_MS)).toBe(expectedMs);
});

test.each([
  ["", "nothing"],
  ["soon", "a word"],
  ["1994", "a year alone"],
  ["784111777", "a number"],
  ["Mon, 06 Nov 1994 08:49:37 GMT", "the wrong weekday"],
  ["Sun, 06 Nov 1994 08:49:37", "no zone"],
  ["Sun, 06 Nov 1994 08:49:37 CET", "another zone"],
  ["Sun, 06 Nov 1994 08:49:37 GMT ", "a space at the end"],
  ["sun, 06 nov 1994 08:49:37 gmt", "lower case"],
  ["Sun, 6 Nov 1994 08:49:37 +2500", "an offset of more than a day"],
  ["Sun, 06 Nov 1994 24:00:00 GMT", "hour 24"],
  ["Sun, 06 Nov 1994 08:60:37 GMT", "minute 60"],
  ["Sun, 06 Nov 1994 08:49:61 GMT", "second 61"],
  ["Wed, 29 Feb 2023 00:00:00 GMT", "a leap day that is none"],
  ["Mon, 29 Feb 2100 00:00:00 GMT", "a leap day of a century"],
  ["1994-13-06T08:49:37Z", "month 13"],
  ["1994-00-06T08:49:37Z", "month 0"],
  ["1994-11-31T08:49:37Z", "the 31st of November"],
  ["1994-11-00T08:49:37Z", "day 0"],
  ["1994-11-06T08:49:37", "a local time"],
  ["1994-11-06", "a day alone"],
  ["1994-11-06T08:49:37+24:00", "an offset of a day"],
  ["1994-11-06T08:49:37.Z", "a fraction without digits"],
  ["１９９４-11-06T08:49:37Z", "digits of another script"],
  [`Tue Feb 16 2021 09:02:42 GMT+0100 (${"x".repeat(1000)})`, "a zone name without end"],
])("%s is no date: %s", (text) => {
  expect(parseHttpDate(text, NOW_MS)).toBeUndefined();
});

test("two digits of a year are the latest that is not more than fifty years ahead", () => {
  expect(parseHttpDate("Friday, 20-Nov-76 00:00:00 GMT", NOW_MS)).toBe(Date.UTC(2076, 10, 20));
  expect(parseHttpDate("Sunday, 20-Nov-77 00:00:00 GMT", NOW_MS)).toBe(Date.UTC(1977, 10, 20));
  expect(parseHttpDate("Friday, 20-Nov-26 00:00:00 GMT", NOW_MS)).toBe(NOW_MS - 12 * 3_600_000);
});

test("every moment of ten thousand years is read as it was written", () => {
  const moment = fc.date({
    min: new Date("0001-01-01T00:00:00Z"),
    max: new Date("9999-12-31T23:59:59Z"),
    noInvalidDate: true,
  });
  fc.assert(
    fc.property(moment, (date) => {
      const wholeSecondsMs = Math.floor(date.getTime() / 1000) * 1000;
      expect(parseHttpDate(date.toUTCString(), NOW_MS)).toBe(wholeSecondsMs);
      expect(parseHttpDate(date.toISOString(), NOW_MS)).toBe(date.getTime());
    }),
    { seed: SEED, numRuns: 400 },
  );
});

test("what a JavaScript server prints of a date is read, whatever its zone", () => {
  const zones = ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns", "Pacific/Chatham"];
  const zoneBefore = process.env["TZ"];
  try {
    for (const zone of zones) {
      process.env["TZ"] = zone;
      for (const month of [0, 6]) {
        const date = new Date(Date.UTC(2026, month, 15, 22, 30, 5));
        expect([String(date), parseHttpDate(String(date), NOW_MS)]).toEqual([String(date), date.getTime()]);
      }
    }
  } finally {
    if (zoneBefore === undefined) delete process.env["TZ"];
    else process.env["TZ"] = zoneBefore;
  }
});

test("no text makes it throw, and whatever it reads is a moment", () => {
  const text = fc.oneof(
    fc.string({ unit: CODE_POINT }),
    fc.stringMatching(/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/),
    fc.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/),
  );
  fc.assert(
    fc.property(text, (text) => {
      const ms = parseHttpDate(text, NOW_MS);
      expect(ms === undefined || Number.isSafeInteger(ms)).toBe(true);
    }),
    { seed: SEED, numRuns: 400 },
  );
});
