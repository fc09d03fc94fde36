/** How long a refusal asks us to wait, in its body. */

import { longerWait, NO_WAIT, readWait, waitOf, type AskedWait } from "../hints/fields/retry-after.ts";
import type { Facts, TimeFact } from "./facts.ts";
import { SECOND_MS } from "../../kernel/time/duration.ts";
import { parseHttpDate } from "../../kernel/time/http-date.ts";
import { durationAt } from "../hints/fields/time-in.ts";
import { UNITS_MS } from "../hints/fields/words.ts";

/** Reads fields: `retry_after`, `retryDelay`, `estimated_time`, `reset_at`, … */
export function readTimeFields({ times }: Facts, anchorMs: number): AskedWait {
  return times.map((field) => readField(field, anchorMs)).reduce(longerWait, NO_WAIT);
}

const ABOUT_WAITING =
  /\bretry (?:after|delay|in|at|time|wait|seconds|ms|not before)\b|\btry again (?:after|in|at)\b|\bwait(?: for| time| until)?(?: in)?(?: seconds?| ms| milliseconds| minutes?| hours?)?$|\bresets? (?:after|in|at|time|seconds|minutes|ms|date|utc|timestamp|time stamp|delay)\b|^resets?$|\b(?:next|window) resets?$|\brate ?limit resets?\b|\b(?:seconds|ms|time) (?:until|to|before) (?:reset|retry)\b|\bestimated (?:time|wait)\b|\bbackoff\b|\bcool ?down\b|\b(?:blocked|banned|limited|locked|throttled) until\b|\bavailable (?:at|in|after)\b|\bnext (?:access|allowed|attempt|request|available)\b|\blimit next$/;

function readField({ key, text }: TimeFact, anchorMs: number): AskedWait {
  if (!ABOUT_WAITING.test(key)) return NO_WAIT;
  const unit = /\b(?:ms|millis|milliseconds|mins?|minutes?|hours?)\b/.exec(key)?.[0] ?? "s";
  return readWait(text.trim(), UNITS_MS.get(unit) ?? SECOND_MS, anchorMs);
}

/** A time is one to wait for only near one of these words, in the same sentence. */
const ASKS =
  /\b(?:retry|retrying|try|again|wait|available|resets?|replenished?|renew(?:s|ed)?|refresh(?:es|ed)?|unblocked|lifted|resumes?|cool ?down|(?:another|next) (?:request|call|attempt)|banned|blocked|suspended|back|maintenance)\b|\blimited (?:until|till)\b|\b(?:only|can access|can submit)\b.{1,40} after:? $/;
const BEFORE_TIME =
  /\b(?:in|after|for|until|till|at|on(?= (?:\d{4}-|[a-z]{3}))|wait(?: time)?|cool ?down|another)(?:[:=]| about| approximately| approx\.?| around| another| at least| up to| the next)?[ -]?[~≈]?(?=\d|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6},? \d)/g;
const BACK_CHARACTERS = 60;
const MOST_TIMES = 8;

/** Reads sentences: "try again in 1h2m3s", "retry after 1343.2 minutes", "banned until 1629399758399". */
export function readTimesInWords({ sentences }: Facts, anchorMs: number): AskedWait {
  let wait = NO_WAIT;
  let times = 0;
  for (const sentence of sentences) {
    if (!/\d|\b(?:an?|one) /i.test(sentence.text)) continue;
    const text = sentence.text
      .toLowerCase()
      .replaceAll(/['’]/g, "")
      .replaceAll(/(?:[\s_"`*()]|-(?!\d))+/g, " ")
      .replaceAll(/\b(?:an?|one) (?=(?:second|minute|hour|day)\b)/g, "1 ");
    for (const match of text.matchAll(BEFORE_TIME)) {
      times += 1;
      if (times > MOST_TIMES) return wait;
      const at = match.index + match[0].length;
      const clause = text.slice(Math.max(0, match.index - BACK_CHARACTERS), at);
      if (!ASKS.test(clause.slice(Math.max(clause.lastIndexOf(". "), clause.lastIndexOf("; ")) + 1)))
        continue;
      const waitMs = timeAt(text.slice(at, at + BACK_CHARACTERS), clause, anchorMs);
      if (waitMs !== undefined) wait = longerWait(wait, waitOf(waitMs));
    }
  }
  return wait;
}

const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
/** `2026-11-20t20:05:00+08:00`, `2026-nov-20 07:05:00 -0500` */
const YEAR_FIRST =
  /^(?<year>\d{4})[ -](?<month>\d{2}|[a-z]{3})-(?<day>\d{2})[t ](?<time>\d{2}:\d{2}:\d{2})(?:\.\d{1,9})?(?: ?(?<hours>[+-]\d{2}):?(?<minutes>\d{2})(?![:\d]))?/;
/** `fri, 20 nov 2026 13:00:00 gmt` */
const DAY_FIRST =
  /^[a-z]{3,9},? (?<day>\d{1,2}) (?<month>[a-z]{3})[a-z]{0,6},? (?<year>\d{4}),? (?<time>\d{2}:\d{2}:\d{2})(?=$|\W+(?:gmt|utc|$))/;

/** As ISO 8601. */
function dateAt(text: string): string | undefined {
  const found = (YEAR_FIRST.exec(text) ?? DAY_FIRST.exec(text))?.groups;
  if (found === undefined) return undefined;
  const { year, month = "", day = "", time, hours, minutes } = found;
  const [mm, dd] = [MONTHS.indexOf(month) + 1 || month, day].map((part) => String(part).padStart(2, "0"));
  return `${year}-${mm}-${dd}T${time}${hours === undefined ? "Z" : `${hours}:${minutes}`}`;
}

function timeAt(text: string, clause: string, anchorMs: number): number | undefined {
  // "at 12:00:30" is a time of day, in nobody knows which zone, and no wait of twelve hours.
  if (/\b(?:at|until|till):? ?$/.test(clause) && /^\d\d?:/.test(text)) return undefined;
  const durationMs = durationAt(text)?.ms;
  if (durationMs !== undefined) return durationMs;
  const date = dateAt(text);
  if (date !== undefined) return ifAhead((parseHttpDate(date, anchorMs) ?? 0) - anchorMs);
  // A number alone is a moment, or seconds after "retry after".
  const number = /^(\d{1,13})(?:\.\d{1,9})?(?![\w:/,-])/.exec(text)?.[1];
  if (number === undefined) return undefined;
  if (Number(number) < 1e9)
    return /\bretry ?(?:after|in)[:=]? ?$/.test(clause) ? Number(number) * 1000 : undefined;
  return ifAhead((Number(number) >= 1e11 ? Number(number) : Number(number) * 1000) - anchorMs);
}

/** A moment that is over asks for no wait. */
function ifAhead(untilMs: number): number | undefined {
  return untilMs > 0 ? untilMs : undefined;
}
