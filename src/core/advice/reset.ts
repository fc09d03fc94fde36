import { membersOf, plainNumberOf, readAll } from "./header-list.ts";
import { parseHttpDate } from "../time/http-date.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../time/duration.ts";

/** Of the upstream's clock. Asked for only where a reset is a moment: to read a date is the most of the work. */
export type Moment = () => number;

/** A reset that is further away than the longest month is not believed. */
export const FURTHEST_RESET_MS: number = 31 * DAY_MS;

const EPOCH_MS_FROM = 1e11;
const EPOCH_SECONDS_FROM = 1e9;

const DURATION_PART = /(\d{1,15}(?:\.\d{1,9})?)(d|h|ms|m|s|us|µs|ns)/y;
/** In the order that Go writes. */
const UNITS_MS: readonly (readonly [unit: string, ms: number])[] = [
  ["d", DAY_MS],
  ["h", HOUR_MS],
  ["m", MINUTE_MS],
  ["s", SECOND_MS],
  ["ms", 1],
  ["us", 1e-3],
  ["µs", 1e-3],
  ["ns", 1e-6],
];

/** `22.14:18:12`, `00:01:30`: days, hours, minutes and seconds. */
const CLOCK_SPAN = /^(?:(\d{1,4})\.)?(\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?$/;

function clockSpanMsOf(text: string): number | undefined {
  const [, days, hours, minutes, seconds, fraction] = CLOCK_SPAN.exec(text) ?? [];
  if (hours === undefined) return undefined;
  const wholeSeconds =
    ((Number(days ?? 0) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
  return (wholeSeconds + Number(fraction ?? 0)) * 1000;
}

/** `6m0s`, `12ms`, `1h2m3.5s`. */
export function durationMsOf(text: string): number | undefined {
  let totalMs = 0;
  let nextUnit = 0;
  DURATION_PART.lastIndex = 0;
  while (DURATION_PART.lastIndex < text.length) {
    const part = DURATION_PART.exec(text);
    const unit = UNITS_MS.findIndex(([name]) => name === part?.[2]);
    if (part === null || unit < nextUnit) return undefined;
    nextUnit = unit + 1;
    totalMs += Number(part[1]) * (UNITS_MS[unit]?.[1] ?? 0);
  }
  return nextUnit === 0 ? undefined : totalMs;
}

/** A number as large as a timestamp is a timestamp, a smaller one is a delay. */
function numberMsOf(text: string, anchorMs: Moment, unitMs: number): number | undefined {
  const number = plainNumberOf(text);
  if (number === undefined) return undefined;
  if (number >= EPOCH_MS_FROM) return number - anchorMs();
  return unitMs > 1 && number >= EPOCH_SECONDS_FROM ? number * 1000 - anchorMs() : number * unitMs;
}

const LOCAL_DATE =
  /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)(?: ?(UTC|GMT|Z|([+-]\d{2}):?(\d{2})))?$/;

/** `2026-05-28 20:27:00`, perhaps with a zone: what databases and frameworks print. Without one it is UTC. */
function dateMsOf(text: string, anchorMs: Moment): number | undefined {
  const [, day, time, , offsetHours, offsetMinutes] = LOCAL_DATE.exec(text) ?? [];
  const iso =
    day === undefined
      ? text
      : `${day}T${time}${offsetHours === undefined ? "Z" : `${offsetHours}:${offsetMinutes}`}`;
  const dateMs = parseHttpDate(iso, anchorMs());
  return dateMs === undefined ? undefined : dateMs - anchorMs();
}

/**
 * Time until a reset, in any notation. Timestamps are relative to the upstream's clock, `anchorMs`. Undefined if it
 * cannot be read or is too far away.
 */
function resetMsOf(text: string, anchorMs: Moment, unitMs: number): number | undefined {
  const untilMs =
    numberMsOf(text, anchorMs, unitMs) ??
    durationMsOf(text) ??
    clockSpanMsOf(text) ??
    dateMsOf(text, anchorMs);
  if (untilMs === undefined || Math.abs(untilMs) > FURTHEST_RESET_MS) return undefined;
  return Math.max(0, Math.ceil(untilMs));
}

/** One reset, or a list of them. A date contains a comma, so the whole text is tried first. */
export function resetsMsOf(text: string, anchorMs: Moment, unitMs: number): readonly number[] | undefined {
  const whole = resetMsOf(text, anchorMs, unitMs);
  if (whole !== undefined) return [whole];
  return readAll(membersOf(text), (part) => resetMsOf(part, anchorMs, unitMs));
}
