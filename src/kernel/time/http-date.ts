import { civilDayOf, DAYS_PER_CYCLE, MONTHS, weekdayOf, WEEKDAYS } from "./civil-day.ts";
import { DAY_MS } from "./duration.ts";

/** The date formats of HTTP headers. Strict: anything else is not a date. */

const WEEKDAY = "(?<weekday>Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
const LONG_WEEKDAY = `(?<weekday>${WEEKDAYS.join("|")})`;
const MONTH = `(?<monthName>${MONTHS.join("|")})`;
const TIME = String.raw`(?<hour>\d{2}):(?<minute>\d{2}):(?<second>\d{2})`;
const OFFSET = String.raw`(?<sign>[+-])(?<offsetHour>\d{2})`;

const FORMS: readonly RegExp[] = [
  // Sun, 06 Nov 1994 08:49:37 GMT. Some write UTC or +0000, and Java's a day of one digit
  new RegExp(
    String.raw`^${WEEKDAY}, (?<day>\d{1,2}) ${MONTH} (?<year>\d{4}) ${TIME} (?:GMT|UTC|${OFFSET}(?<offsetMinute>\d{2}))$`,
  ),
  // Sunday, 06-Nov-94 08:49:37 GMT
  new RegExp(String.raw`^${LONG_WEEKDAY}, (?<day>\d{2})-${MONTH}-(?<shortYear>\d{2}) ${TIME} GMT$`),
  // Sun Nov  6 08:49:37 1994
  new RegExp(String.raw`^${WEEKDAY} ${MONTH} (?<day>\d{2}| \d) ${TIME} (?<year>\d{4})$`),
  // 1994-11-06T08:49:37.5Z, and without seconds, as some that say ISO 8601 write it
  new RegExp(
    String.raw`^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})[Tt ](?<hour>\d{2}):(?<minute>\d{2})` +
      String.raw`(?::(?<second>\d{2})(?<fraction>\.\d{1,9})?)?(?:[Zz]|${OFFSET}:(?<offsetMinute>\d{2}))$`,
  ),
  // Sun Nov 06 1994 09:49:37 GMT+0100 (Central European Standard Time)
  new RegExp(
    String.raw`^${WEEKDAY} ${MONTH} (?<day>\d{2}) (?<year>\d{4}) ${TIME} ` +
      String.raw`GMT${OFFSET}(?<offsetMinute>\d{2})(?: \([^()]{1,100}\))?$`,
  ),
];

const MEAN_YEAR_MS = 365.2425 * DAY_MS;
const LONGEST_DATE = 200;

type DateGroups = Readonly<Partial<Record<string, string>>>;

/** Days since 1970-01-01. One cycle later and back, as Date.UTC takes the years 0 to 99 for those of 1900. */
function daysFromCivil(year: number, month: number, day: number): number {
  return Date.UTC(year + 400, month - 1, day) / DAY_MS - DAYS_PER_CYCLE;
}

/** Two digits mean the latest such year that is not more than 50 years ahead (RFC 9110). */
function yearOf(parts: DateGroups, nowMs: number): number {
  if (parts["shortYear"] === undefined) return Number(parts["year"]);
  const latest = Math.floor(1970 + nowMs / MEAN_YEAR_MS) + 50;
  const shortYear = Number(parts["shortYear"]);
  return latest - ((((latest - shortYear) % 100) + 100) % 100);
}

function dayMsOf(parts: DateGroups, nowMs: number): number | undefined {
  const year = yearOf(parts, nowMs);
  const monthName = parts["monthName"];
  const month = monthName === undefined ? Number(parts["month"]) : MONTHS.indexOf(monthName) + 1;
  const day = Number(parts["day"]);
  const days = daysFromCivil(year, month, day);
  const real = civilDayOf(days);
  if (real.month !== month || real.day !== day) return undefined;
  const weekday = WEEKDAYS[weekdayOf(days)] ?? "";
  if (!weekday.startsWith(parts["weekday"] ?? "")) return undefined;
  return days * DAY_MS;
}

/** A leap second (`:60`) counts as the first of the next minute. */
function timeMsOf(parts: DateGroups): number | undefined {
  const part = (name: string): number => Number(parts[name] ?? 0);
  const [hour, minute, second] = [part("hour"), part("minute"), part("second")];
  const [offsetHour, offsetMinute] = [part("offsetHour"), part("offsetMinute")];
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return undefined;
  const aheadOfUtcMinutes = (offsetHour * 60 + offsetMinute) * (parts["sign"] === "-" ? -1 : 1);
  const fractionMs = Math.floor(Number(`0${parts["fraction"] ?? ""}`) * 1000 + 1e-6);
  return ((hour * 60 + minute - aheadOfUtcMinutes) * 60 + second) * 1000 + fractionMs;
}

/** Milliseconds since the epoch; undefined if the text is not a date. `nowMs` decides the century of a two-digit year. */
export function parseHttpDate(text: string, nowMs: number): number | undefined {
  if (text.length > LONGEST_DATE) return undefined;
  for (const form of FORMS) {
    const parts = form.exec(text)?.groups;
    if (parts === undefined) continue;
    const dayMs = dayMsOf(parts, nowMs);
    const timeMs = timeMsOf(parts);
    return dayMs === undefined || timeMs === undefined ? undefined : dayMs + timeMs;
  }
  return undefined;
}
