/** How long a refusal asks us to wait, in its body. */

import { durationAt, longestWait, NO_WAIT, readWait, type Wait } from "../advice/retry-after.ts";
import type { Facts, TimeFact } from "./facts.ts";

/** Of fields: `retry_after`, `retryDelay`, `estimated_time`, `reset_at`, … */
export function readTimeFields({ times }: Facts, anchorMs: number): Wait {
  return times.map((field) => readField(field, anchorMs)).reduce(longestWait, NO_WAIT);
}

const ABOUT_WAITING =
  /\bretry (?:after|delay|in|at|time|wait|seconds|ms)\b|\bwait(?: for| time)?(?: in)?(?: seconds?| ms| milliseconds)?$|\bresets? (?:after|in|at|time|seconds|ms|date|timestamp|time stamp|delay)\b|^resets?$|\b(?:seconds|ms|time) (?:until|to|before) (?:reset|retry)\b|\bestimated (?:time|wait)\b|\bbackoff\b|\bavailable (?:at|in|after)\b/;

function readField({ key, text }: TimeFact, anchorMs: number): Wait {
  if (!ABOUT_WAITING.test(key)) return NO_WAIT;
  const unitMs = /\b(?:ms|millis|milliseconds)\b/.test(key) ? 1 : 1000;
  return readWait(text.trim(), unitMs, anchorMs);
}

/** A time is one to wait for only near one of these words, in the same sentence. */
const ASKS =
  /\b(?:retry|retrying|try|again|wait|available|resets?|replenished?|renew(?:s|ed)?|refresh(?:es|ed)?|unblocked|lifted|resumes?|banned|blocked|back)\b/;
const BEFORE_TIME =
  /\b(?:in|after|for|until|till|at|wait|another)(?::| about| approximately| approx\.?| around| another| at least)? ?[~≈]?(?=\d|an? (?:second|minute|hour|day))/g;
const BACK_CHARACTERS = 60;
const MOST_TIMES = 8;

/** Of sentences: "try again in 1h2m3s", "retry after 1343.2 minutes", "banned until 1629399758399". */
export function readTimesInWords({ words }: Facts, anchorMs: number): Wait {
  let wait = NO_WAIT;
  let times = 0;
  for (const { text } of words.facts) {
    for (const match of text.matchAll(BEFORE_TIME)) {
      times += 1;
      if (times > MOST_TIMES) return wait;
      const at = match.index + match[0].length;
      const clause = text.slice(Math.max(0, match.index - BACK_CHARACTERS), at);
      if (!ASKS.test(clause.slice(Math.max(clause.lastIndexOf(". "), clause.lastIndexOf("; ")) + 1)))
        continue;
      const waitMs = timeAt(text.slice(at, at + BACK_CHARACTERS), clause, anchorMs);
      if (waitMs !== undefined) wait = longestWait(wait, readWait(String(waitMs), 1, 0));
    }
  }
  return wait;
}

function timeAt(text: string, clause: string, anchorMs: number): number | undefined {
  const one = /^an? (second|minute|hour|day)\b/.exec(text);
  if (one !== null) return durationAt(`1 ${one[1] ?? ""}`);
  const durationMs = durationAt(text);
  if (durationMs !== undefined) return durationMs;
  const moment = /^\d{4} \d{2} \d{2}[t ]\d{2}:\d{2}:\d{2}/.exec(text)?.[0];
  if (moment !== undefined) {
    const { waitMs } = readWait(
      `${moment.slice(0, 10).replaceAll(" ", "-")}T${moment.slice(11)}Z`,
      1000,
      anchorMs,
    );
    return waitMs;
  }
  // A number alone is a moment, or seconds after "retry after".
  const number = /^(\d{1,13})(?:\.\d{1,9})?(?![\w:/,-])/.exec(text)?.[1];
  if (number === undefined) return undefined;
  if (Number(number) < 1e9)
    return /\bretry ?(?:after|in):? ?$/.test(clause) ? Number(number) * 1000 : undefined;
  return Math.max(0, (Number(number) >= 1e11 ? Number(number) : Number(number) * 1000) - anchorMs);
}
