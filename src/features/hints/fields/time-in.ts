/** A time as headers, bodies and sentences write it: a number, a duration or a moment. */

import { DAY_MS } from "../../../kernel/time/duration.ts";
import { parseHttpDate } from "../../../kernel/time/http-date.ts";
import { UNITS_MS } from "./words.ts";

/** The longest month. No upstream means a longer wait, or a moment that is further away. */
export const LONGEST_WAIT_MS: number = 31 * DAY_MS;

/** The upstream's clock. It is asked only where a time is a moment: reading its `Date` is most of the work. */
export type Anchor = () => number;

/** A header's value without the spaces and the quotation marks around it: `"60"`. */
export function unquoted(value: string): string {
  const text = value.trim();
  return /^"[^"]*"$/.test(text) ? text.slice(1, -1) : text;
}

/** How long from now until the time that the text tells, negative if it is over; undefined if it tells none. */
export function timeIn(text: string, unitMs: number, anchorMs: Anchor): number | undefined {
  const number = plainNumberOf(text);
  if (number !== undefined) return untilNearMoment(number, anchorMs) ?? number * unitMs;
  const finerMoment = FINER_MOMENT.exec(text)?.[1];
  if (finerMoment !== undefined) return untilNearMoment(Number(finerMoment), anchorMs);
  const durationMs = durationIn(text);
  if (durationMs !== undefined) return durationMs;
  const dateMs = parseHttpDate(inIsoForm(text), anchorMs());
  return dateMs === undefined ? undefined : dateMs - anchorMs();
}

/** Undefined if the text is anything but a duration. */
export function durationIn(text: string): number | undefined {
  const lower = text.toLowerCase();
  const duration = durationAt(lower);
  return duration?.end === lower.length ? duration.ms : undefined;
}

const PLAIN_NUMBER = /^\d{1,15}(?:\.\d{1,17})?$/;

/** A number as headers write it: digits, perhaps with a fraction; no sign, no exponent, at most 15 digits. */
export function plainNumberOf(text: string): number | undefined {
  return PLAIN_NUMBER.test(text) ? Number(text) : undefined;
}

/** Microseconds or nanoseconds since 1970: the first 13 digits are milliseconds. */
const FINER_MOMENT = /^(\d{13})(?:\d{3}){1,2}$/;

const MOMENT_IN_SECONDS_FROM = 1e9;
const MOMENT_IN_MS_FROM = 1e11;

/** A number that would be years as a delay, and is near as a moment, is a moment: seconds or milliseconds since 1970. */
function untilNearMoment(number: number, anchorMs: Anchor): number | undefined {
  if (number < MOMENT_IN_SECONDS_FROM) return undefined;
  const untilMs = (number >= MOMENT_IN_MS_FROM ? number : number * 1000) - anchorMs();
  return Math.abs(untilMs) <= LONGEST_WAIT_MS ? untilMs : undefined;
}

const AMOUNT =
  /\s{0,9}(?:,|and\b)?\s{0,9}(\d{1,15}(?:\.\d{1,15})?)\s{0,9}(?:more\s)?([a-zµ]{1,12})(?![a-zµ_])/y;
/** `00:01:30`, `22.14:18:12`: perhaps days, then hours, minutes and seconds. */
const CLOCK = /^(?:(\d{1,5})\.)?(\d{1,5}):(\d{2}):(\d{2}(?:\.\d{1,9})?)/;

/**
 * The duration with which a text in lower case begins, and where it ends: `1h2m3s`, `9m38.016s`, `1 hour and 5 minutes`,
 * `pt30s`, `p1d`, `22.14:18:12`.
 */
export function durationAt(text: string): { readonly ms: number; readonly end: number } | undefined {
  const clock = CLOCK.exec(text);
  if (clock !== null) {
    const [days, hours, minutes, seconds] = clock.slice(1).map((part) => Number(part ?? 0));
    const wholeMinutes = ((days ?? 0) * 24 + (hours ?? 0)) * 60 + (minutes ?? 0);
    return { ms: (wholeMinutes * 60 + (seconds ?? 0)) * 1000, end: clock[0].length };
  }
  let duration: { ms: number; end: number } | undefined;
  let longerMs = Infinity;
  AMOUNT.lastIndex = /^p(?:t|(?=\d{1,4}d))/.exec(text)?.[0].length ?? 0;
  for (let found = AMOUNT.exec(text); found !== null; found = AMOUNT.exec(text)) {
    const unitMs = UNITS_MS.get(found[2] ?? "");
    // Each unit is shorter than the one before it.
    if (unitMs === undefined || unitMs >= longerMs) break;
    duration = { ms: (duration?.ms ?? 0) + Number(found[1]) * unitMs, end: AMOUNT.lastIndex };
    longerMs = unitMs;
  }
  return duration;
}

const LOCAL_DATE =
  /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)(?: ?(?:UTC|GMT|Z|([+-]\d{2}):?(\d{2})(?: UTC)?))?$/;

/** `2026-05-28 20:27:00`, perhaps with a zone, is what databases and frameworks print. Without one it is UTC. */
function inIsoForm(text: string): string {
  const [, day, time, offsetHours, offsetMinutes] = LOCAL_DATE.exec(text) ?? [];
  if (day === undefined) return text;
  return `${day}T${time}${offsetHours === undefined ? "Z" : `${offsetHours}:${offsetMinutes}`}`;
}
