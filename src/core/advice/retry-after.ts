/** How long an answer asks us to wait, in its headers. */

import { plainNumberOf } from "./header-list.ts";
import type { Headers } from "../exchange/exchange.ts";
import { parseHttpDate } from "../time/http-date.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../time/duration.ts";

/** No upstream means a longer wait than the longest month: it is cut to this, and counted as malformed. */
export const LONGEST_WAIT_MS: number = 31 * DAY_MS;

/** `waitMs` is undefined if nothing was said, or nothing that can be read. */
export type Wait = { readonly waitMs: number | undefined; readonly malformed: number };

export const NO_WAIT: Wait = { waitMs: undefined, malformed: 0 };
const UNREADABLE: Wait = { waitMs: undefined, malformed: 1 };

/** The longest holds. */
export function longestWait(a: Wait, b: Wait): Wait {
  const waitMs =
    a.waitMs === undefined || b.waitMs === undefined ? (a.waitMs ?? b.waitMs) : Math.max(a.waitMs, b.waitMs);
  return { waitMs, malformed: a.malformed + b.malformed };
}

const ASKING_NAME =
  /(?:^|-)(?:retry-after|retry-in|try-again-in|reset-after)(?:-(ms|millis|milliseconds|s|sec|secs|seconds|mins?|minutes?|hours?))?$/;

/** `ms`, `seconds`, `minutes`, `hours`; seconds where none is told. */
export function unitMsOf(unit: string): number {
  if (unit.startsWith("h")) return HOUR_MS;
  if (unit.startsWith("min")) return MINUTE_MS;
  return unit.startsWith("m") ? 1 : SECOND_MS;
}

const LIST_OF_NUMBERS = /^\d{1,15}(?:\s{0,9},\s{0,9}\d{1,15}){1,20}$/;

/** The longest requested wait. A date in the past requests none. */
export function readRetryAfter(headers: Headers, anchorMs: number): Wait {
  let wait = NO_WAIT;
  for (const [name, value] of headers) {
    const asking = name.includes("-after") || name.includes("-in") ? ASKING_NAME.exec(name) : null;
    if (asking === null) continue;
    const text = value.trim();
    // Sent twice, and joined on the way.
    for (const each of LIST_OF_NUMBERS.test(text) ? text.split(",") : [text])
      wait = longestWait(wait, readWait(each.trim(), unitMsOf(asking[1] ?? "s"), anchorMs));
  }
  return wait;
}

/** A time as an answer writes it: a number in `unitMs`, a duration, or a moment in the upstream's clock, `anchorMs`. */
export function readWait(text: string, unitMs: number, anchorMs: number): Wait {
  const number =
    plainNumberOf(text) ?? (/^\d{1,15}(?:\.\d{1,15})?e\+?\d{1,3}$/i.test(text) ? Number(text) : undefined);
  const waitMs =
    number === undefined
      ? unitMs === 1
        ? undefined
        : (durationMsOf(text) ?? untilMs(text, anchorMs))
      : (momentMs(number, anchorMs) ?? number * unitMs);
  if (waitMs === undefined || Number.isNaN(waitMs)) return UNREADABLE;
  if (waitMs > LONGEST_WAIT_MS) return { waitMs: LONGEST_WAIT_MS, malformed: 1 };
  return { waitMs: Math.max(0, Math.ceil(waitMs)), malformed: 0 };
}

/** A number that would be years as a delay, and as a time is near, is a time: seconds or milliseconds since 1970. */
function momentMs(number: number, anchorMs: number): number | undefined {
  const untilMs = (number >= 1e11 ? number : number * 1000) - anchorMs;
  return number >= 1e9 && Math.abs(untilMs) <= LONGEST_WAIT_MS ? untilMs : undefined;
}

function untilMs(text: string, anchorMs: number): number | undefined {
  const dateMs = parseHttpDate(text, anchorMs);
  return dateMs === undefined ? undefined : dateMs - anchorMs;
}

const UNITS_MS: readonly (readonly [unit: RegExp, ms: number])[] = [
  [/^(?:d|days?)$/, DAY_MS],
  [/^(?:h|hrs?|hours?)$/, HOUR_MS],
  [/^(?:m|mins?|minutes?)$/, MINUTE_MS],
  [/^(?:s|secs?|seconds?)$/, SECOND_MS],
  [/^(?:ms|millis|milliseconds?)$/, 1],
];

const AMOUNT = /\s*(?:,|and\b)?\s*(\d{1,15}(?:\.\d{1,15})?)\s*([a-z]{1,12})\b/y;
const CLOCK = /^(?:(\d{1,5})\.)?(\d{1,5}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?/;

/** `1h2m3s`, `9m38.016s`, `1 hour and 5 minutes`, `pt30s`, or the clock's `22.14:18:12`; what follows is left alone. */
export function durationAt(text: string): number | undefined {
  const clock = CLOCK.exec(text);
  if (clock !== null) {
    const [days, hours, minutes, seconds] = clock.slice(1, 5).map((part) => Number(part ?? 0));
    const fraction = Number(`0.${clock[5] ?? 0}`);
    return (
      (((days ?? 0) * 24 + (hours ?? 0)) * 60 + (minutes ?? 0)) * MINUTE_MS +
      ((seconds ?? 0) + fraction) * SECOND_MS
    );
  }
  let totalMs: number | undefined;
  let at = text.startsWith("pt") ? 2 : 0;
  for (;;) {
    AMOUNT.lastIndex = at;
    // Without a space, the next amount follows at once: `1h2m3s`.
    const match = AMOUNT.exec(text) ?? tight(text, at);
    const unitMs = UNITS_MS.find(([unit]) => unit.test(match?.[2] ?? ""))?.[1];
    if (match === null || unitMs === undefined) return totalMs;
    totalMs = (totalMs ?? 0) + Number(match[1]) * unitMs;
    at = match.index + match[0].length;
  }
}

const TIGHT_AMOUNT = /(\d{1,15}(?:\.\d{1,15})?)([a-z]{1,2})(?=\d)/y;

function tight(text: string, at: number): RegExpExecArray | null {
  TIGHT_AMOUNT.lastIndex = at;
  return TIGHT_AMOUNT.exec(text);
}

/** Nothing but a duration. */
function durationMsOf(text: string): number | undefined {
  const lower = text.toLowerCase();
  if (!/^(?:pt)?[\d.:,\s]*(?:[a-z]|\d)[\da-z.:,\s]*$/.test(lower) || !/^(?:pt)?\d/.test(lower))
    return undefined;
  return durationAt(lower);
}
