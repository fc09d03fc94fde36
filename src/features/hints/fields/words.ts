/** Headers' names are made of these words. No provider is known by name. */

import { wordSet } from "../../../kernel/text/word-set.ts";
import { SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS } from "../../../kernel/time/duration.ts";

export type FieldPart =
  | "limit"
  | "remaining"
  | "used"
  | "reset"
  /** The value is the length of the window. */
  | "window"
  /** So many more are allowed in each second. */
  | "refill"
  /** The value names the one of several limits that the answer is about. */
  | "resource"
  /** A kind of limit: it may name a window or a unit, but it tells no two limits apart. */
  | "kind"
  /** The answer was held back for so long: who does that counts work, not requests. */
  | "delay"
  | "policy"
  /** The name ends with `rate-limit`: a number, or a whole family in one value. */
  | "all"
  /** More words follow, and none of them is a part: only a whole family in one value is believed. */
  | "object";

export function table<Value>(
  ...rows: readonly (readonly [words: string, value: Value])[]
): ReadonlyMap<string, Value> {
  return new Map(rows.flatMap(([words, value]) => words.split(" ").map((word) => [word, value] as const)));
}

/** The words for each unit of a time. */
export const UNITS_MS: ReadonlyMap<string, number> = table(
  ["d day days", DAY_MS],
  ["h hr hrs hour hours", HOUR_MS],
  ["m min mins minute minutes", MINUTE_MS],
  ["s sec secs second seconds", SECOND_MS],
  ["ms millis millisecond milliseconds", 1],
  ["us µs", 1e-3],
  ["ns", 1e-6],
);

const WINDOWS_MS: ReadonlyMap<string, number> = table(
  ["second seconds secondly sec secs s qps rps tps", SECOND_MS],
  ["minute minutes minutely min mins m qpm rpm", MINUTE_MS],
  ["hour hours hourly h hr hrs qph rph", HOUR_MS],
  ["day days daily today d qpd rpd", DAY_MS],
  ["week weeks weekly", 7 * DAY_MS],
  ["month months monthly", 30 * DAY_MS],
);

/** Beside `interval`, `window` or `reset`, these may say how the number is written, and not which window it is. */
export const NUMBER_UNITS_MS: ReadonlyMap<string, number> = new Map(
  [...UNITS_MS].filter(([word, ms]) => word.length > 1 && ms >= 1),
);

export const PARTS: ReadonlyMap<string, FieldPart> = table<FieldPart>(
  ["limit lim max maximum total allowed allotted ceiling capacity", "limit"],
  ["remaining remain rem left available", "remaining"],
  ["used usage count consumed state", "used"],
  ["reset resets next until after expiry expire expires expiration", "reset"],
  ["interval period window duration", "window"],
  ["replenish fillrate", "refill"],
  ["resource bucket name class category group model", "resource"],
  ["type scope reason unit", "kind"],
  ["delay", "delay"],
  ["policy", "policy"],
);

export const REQUESTS: ReadonlySet<string> = wordSet("requests request reqs req calls call");

/**
 * Each kind of request has a limit of its own, which counts requests. So are attempts where the name speaks of a rate; else
 * they are those to log in.
 */
export const KINDS_OF_REQUESTS: ReadonlySet<string> = wordSet(`
  reads read writes write deletes delete search queries query get gets success attempts`);

export const OTHER_UNITS: ReadonlySet<string> = wordSet(`
  tokens token credits credit points point bytes byte characters chars words complexity cost weight tstu tstus
  units unit images image photos videos media messages message recipients recipient emails mail sms uploads
  upload downloads post posts orders order errors error fails failures failed concurrent concurrency
  parallel simultaneous connections time cpu runtime size bandwidth traffic percentage percent utilization compute
  neurons seats storage rows records quota attempts items results page pages body timeout length depth seat memory license`);

/** A resource of this name says that no requests are counted. */
const UNITS_OF_RESOURCES: ReadonlyMap<string, string> = table(
  ["graphql", "points"],
  ["azuredevops", "TSTU"],
  ["photos", "photos"],
  ["tokens", "tokens"],
  ["credits", "credits"],
  ["quota points", "points"],
  ["concurrent concurrency parallel simultaneous", "concurrent"],
);

/** They narrow down whose limit it is, and what is counted are requests all the same. */
export const SCOPES: ReadonlySet<string> = wordSet(`
  user users app application client ip key api apikey account global team org organization organisation tenant
  project member method route path endpoint subscription service shop plan plans burst steady sustained long
  short hard soft free trial auth oauth authenticated unauthenticated access site store host domain workspace
  rapid bucket session throttle identity consumer customer caller device agent default public private anonymous guest
  rolling sliding fixed`);

export const FILLERS: ReadonlySet<string> = wordSet(`
  x per this current at in after for of on to by the date epoch unix utc timestamp ts info http renewal`);

const WINDOW = "(?:second|minute|hour|day|month)";
/** These are written together with the word before them: `ratelimit`, `resettime`, `userremaining`, `minlimit`, `perday`. */
const LAST_GLUED =
  "remaining|remain|resets|reset|policy|limit|time|period|(?<=by)size|(?<=resets?)(?:at|in|after|seconds|ms|timestamp)";
/** These are so only before another of them: `readratelimit`, but not `generate-limit`. */
const GLUED = `${LAST_GLUED}|by|per|rate|min|${WINDOW}`;
/** So is a window with the word for whose limit it is, or for a part of it: `appday`, `remainingminute`. */
const WITH_WINDOW = `(?<=^(?:${[...SCOPES, ...PARTS.keys()].join("|")}))(?=${WINDOW}$)`;
const GLUE = new RegExp(`(?<=.)(?=(?:${GLUED})*(?:${LAST_GLUED}|(?<=per)${WINDOW})$)|${WITH_WINDOW}`);

/** `24-hour` is `24hour`. */
const AMOUNT_BEFORE_TIME =
  /(?<=[-._])(\d{1,4})[-._](?=(?:sec(?:ond)?|min(?:ute)?|hour|hr|day)s?(?:[-._]|$))/g;

export function wordsOfName(name: string): readonly string[] {
  return name
    .replaceAll(AMOUNT_BEFORE_TIME, "$1")
    .split(/[-._]+/)
    .flatMap((piece) => piece.split(GLUE));
}

const AMOUNT_OF_TIME = /^(\d{1,4})([a-z]+)$/;

/** `minute`, `daily`, `24hour`. */
export function windowMsOfWord(word: string): number | undefined {
  const named = word.length > 1 ? WINDOWS_MS.get(word) : undefined;
  if (named !== undefined) return named;
  const [, amount, unit] = AMOUNT_OF_TIME.exec(word) ?? [];
  const unitMs = unit === undefined ? undefined : WINDOWS_MS.get(unit);
  return unitMs === undefined || Number(amount) === 0 ? undefined : Number(amount) * unitMs;
}

const SEPARATORS = /[-._ /]+/;
const CAMEL = /(?<=[a-z])(?=[A-Z0-9])|(?<=[0-9][A-Za-z]{3})(?=[A-Z])/;
const LONGEST_TEXT = 200;

/** A text may name a window: `minute`, `Daily-limit`, `HighCostGet30Min`. */
export function windowMsInText(text: string): number | undefined {
  return firstOf(
    wordsOfText(text).flatMap((word) => word.split(CAMEL)),
    windowMsOfWord,
  );
}

/** The value of a resource may give the unit away. */
export function unitInText(text: string): string | undefined {
  return firstOf(wordsOfText(text), (word) => UNITS_OF_RESOURCES.get(word));
}

function wordsOfText(text: string): readonly string[] {
  return text.length > LONGEST_TEXT ? [] : text.split(SEPARATORS);
}

function firstOf<Read>(words: readonly string[], read: (word: string) => Read | undefined): Read | undefined {
  for (const word of words) {
    const value = read(word.toLowerCase());
    if (value !== undefined) return value;
  }
  return undefined;
}
