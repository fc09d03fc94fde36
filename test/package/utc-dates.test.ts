import { expect, test } from "vitest";
import { UtcDates } from "../../tools/package/utc-dates.ts";

/** As node-cron asks for them. */
const PARTS: Intl.DateTimeFormatOptions = {
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  weekday: "short",
  hour12: false,
  timeZone: "UTC",
};
const OFFSET: Intl.DateTimeFormatOptions = { timeZone: "UTC", timeZoneName: "shortOffset" };

/** What it makes of the parts: an hour of 24 is midnight. */
function numbersIn(dates: Pick<Intl.DateTimeFormat, "formatToParts"> | UtcDates, date: Date): unknown {
  const parts = Object.fromEntries(dates.formatToParts(date).map(({ type, value }) => [type, value]));
  const { weekday, timeZoneName, hour, ...rest } = parts;
  const numbers = ["year", "month", "day", "minute", "second"].map((name) => Number(rest[name]));
  return { weekday, timeZoneName, hour: Number(hour) % 24, numbers };
}

test("the parts of a date are those that ICU tells", () => {
  const [icu, ours] = [new Intl.DateTimeFormat("en-US", PARTS), new UtcDates("en-US", PARTS)];
  const hours = 26 * 365 * 24;
  const dates = Array.from(
    { length: 2_000 },
    (_, index) => new Date(index * (hours / 2_000) * 3_600_000 * 2.137),
  );
  expect(dates.map((date) => numbersIn(ours, date))).toEqual(dates.map((date) => numbersIn(icu, date)));
  const zones = [new Intl.DateTimeFormat("en-US", OFFSET), new UtcDates("en-US", OFFSET)];
  const [theirs, own] = zones.map((zone) =>
    zone.formatToParts(new Date()).find(({ type }) => type === "timeZoneName"),
  );
  expect(own).toEqual(theirs);
});

test("no other time zone is told", () => {
  expect(() => new UtcDates("en-US", { ...PARTS, timeZone: "Europe/Berlin" })).toThrow(/must be UTC/);
});
