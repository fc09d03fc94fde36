/** Headers ask us to wait: `Retry-After` and its like. */

import type { Headers } from "../../../kernel/exchange/exchange.ts";
import { SECOND_MS } from "../../../kernel/time/duration.ts";
import { type Anchor, LONGEST_WAIT_MS, plainNumberOf, timeIn, unquoted } from "./time-in.ts";
import { UNITS_MS } from "./words.ts";

/** `waitMs` is undefined if nothing was said, or nothing that can be read. */
export type AskedWait = { readonly waitMs: number | undefined; readonly malformed: number };

export const NO_WAIT: AskedWait = { waitMs: undefined, malformed: 0 };
const UNREADABLE: AskedWait = { waitMs: undefined, malformed: 1 };

/** Whoever asks twice means the longer wait. */
export function longerWait(a: AskedWait, b: AskedWait): AskedWait {
  const waitMs =
    a.waitMs === undefined || b.waitMs === undefined ? (a.waitMs ?? b.waitMs) : Math.max(a.waitMs, b.waitMs);
  return { waitMs, malformed: a.malformed + b.malformed };
}

const ASKING_NAME =
  /(?:^|-)(?:retry-?after|retry-in|try-again-in|reset-after)(?:-(ms|millis|milliseconds|s|sec|secs|seconds|mins?|minutes?|hours?))?$|rate-?limit-retry-after-[a-z]+$/;

const LIST_OF_NUMBERS = /^\d{1,15}(?:\s{0,9},\s{0,9}\d{1,15}){1,20}$/;

/** The longest wait that is asked for holds. A date in the past asks for none. `withResets`: whether `reset-after` asks for one. */
export function readRetryAfter(headers: Headers, anchorMs: Anchor, withResets = true): AskedWait {
  let wait = NO_WAIT;
  for (const [name, value] of headers) {
    const asking = name.includes("after") || name.includes("-in") ? ASKING_NAME.exec(name) : null;
    if (asking === null || (!withResets && name.includes("reset-after"))) continue;
    const unitMs = UNITS_MS.get(asking[1] ?? "s") ?? SECOND_MS;
    const text = unquoted(value);
    // Sent twice, and joined on the way.
    for (const each of LIST_OF_NUMBERS.test(text) ? text.split(",") : [text])
      wait = longerWait(wait, readWait(each.trim(), unitMs, anchorMs()));
  }
  return wait;
}

/** Answers write a time as a number in `unitMs`, a duration, or a moment in the upstream's clock, `anchorMs`. */
export function readWait(text: string, unitMs: number, anchorMs: number): AskedWait {
  const isOtherUnit = unitMs === 1 && plainNumberOf(text) === undefined;
  return isOtherUnit ? UNREADABLE : waitOf(timeIn(text, unitMs, () => anchorMs));
}

export function waitOf(waitMs: number | undefined): AskedWait {
  if (waitMs === undefined) return UNREADABLE;
  if (waitMs > LONGEST_WAIT_MS) return { waitMs: LONGEST_WAIT_MS, malformed: 1 };
  return { waitMs: Math.max(0, Math.ceil(waitMs)), malformed: 0 };
}
