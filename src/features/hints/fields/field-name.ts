import { remembered } from "../../../platform/remembered.ts";
import { wordSet } from "../../../kernel/text/word-set.ts";
import {
  FILLERS,
  type FieldPart,
  KINDS_OF_REQUESTS,
  NUMBER_UNITS_MS,
  OTHER_UNITS,
  PARTS,
  REQUESTS,
  SCOPES,
  table,
  windowMsOfWord,
  wordsOfName,
} from "./words.ts";

export type LimitField = {
  readonly part: FieldPart;
  /** Fields of one family are about one limit. */
  readonly family: string;
  /** The name up to and with `rate-limit` tells whose limits these are. */
  readonly prefix: string;
  /** `requests`, or the word that says what else is counted, or hides it. */
  readonly unit: string;
  readonly perMs: number | undefined;
  /** A time that is a plain number is in this unit. */
  readonly numberMs: number | undefined;
  /** The name alone does not prove that this is about requests in a time. */
  readonly isWeak: boolean;
  /** It says no more than that requests are counted. */
  readonly isPlain: boolean;
  /** Whose limit it is, and of what: empty if it may be of all. */
  readonly of: string;
  readonly saysRequests: boolean;
};

/** A header that says something about limits. */
export type LimitHeader = { readonly field: LimitField; readonly value: string };

/**
 * A name is read as words. Undefined if they are about no limit.
 *
 *      x-gateway - ratelimit - limit - tokens - minute
 *      |- owner -|-- stem ---|------- said ----------|
 *                              part    unit     window
 *
 * One of the words that are said is the part: it tells what the value is. Each other word has one role.
 */
function read(name: string): LimitField | undefined {
  const words = wordsOfName(name);
  const stem = stemOf(words);
  const said = words.slice(stem.end);
  const named = partIn(said, stem.isWeak);
  if (isOfNoLimit(words, stem, named?.part)) return undefined;
  // `x-ratelimit-current-minute: 7`, `x-ratelimit-timestamp: 12:05:30`: of what?
  if (named === undefined && said.some((word) => VAGUE.has(word))) return undefined;
  // `x-ratelimit-daily`, `x-rate-limit`: without a part, the number is the limit.
  const isVague = said.some((word) => REQUESTS.has(word)) && !said.includes("per");
  const whole = isVague ? "object" : stem.isWeak ? (stem.end > stem.start ? "limit" : undefined) : "all";
  const part = named?.part ?? whole;
  if (part === undefined) return undefined;
  const others = otherWords(words, stem, { part, at: named && stem.end + named.at });
  const wordsThatAre = (...roles: readonly Role[]): readonly string[] =>
    others.flatMap(({ word, role }) => (roles.includes(role) ? [word] : []));

  const window = wordsThatAre("window")[0] ?? "";
  const perMs = windowMsOfWord(window);
  const saysRequests = others.some(
    ({ role, isSaid }) => role === "requests" || (role === "kind of requests" && isSaid),
  );
  const anything = wordsThatAre("owner", "unknown").find((word) => !SCOPES.has(word) && !PARTS.has(word));
  const isOfRequests = saysRequests || RATE.test(window) || (perMs !== undefined && anything === undefined);
  if (!OF_LIMITS.test(name) && !isOfRequests) return undefined;
  const isQualified = others.some(({ role, isSaid }) => isSaid && QUALIFIERS.includes(role));
  // `x-throttle`: perhaps whether, not how many.
  const isObject = isQualified || words[stem.start] === "throttle";
  const counted = stem.isWeak && PLURAL.test(anything ?? "") ? anything : wordsThatAre("unknown")[0];
  const hidden = words.slice(stem.start, stem.end).includes("quota") ? "quota" : counted;
  const prefix = prefixOf(name, words, stem);
  const of = wordsThatAre(...QUALIFIERS).join("-");
  return {
    part: part !== "all" ? part : isObject ? "object" : perMs === undefined ? "all" : "limit",
    family: `${prefix} ${saysRequests ? "requests" : ""} ${of} ${perMs ?? ""}${part === "policy" ? "policy" : ""}`,
    prefix,
    unit: wordsThatAre("other unit")[0] ?? (saysRequests ? "requests" : (hidden ?? "requests")),
    perMs,
    numberMs: NUMBER_UNITS_MS.get(wordsThatAre("unit of the number").at(-1) ?? ""),
    isWeak: stem.isWeak,
    isPlain: perMs === undefined && !isQualified,
    of,
    saysRequests: saysRequests || OF_THE_API.test(name),
  };
}

/** They leave open whether a number is the limit or what was used of it. */
const VAGUE = wordSet("current this at in after for on by date epoch unix utc timestamp ts renewal");

/**
 * What is left or reset may be anything, such as votes or a session: without one of these words, a name must say requests,
 * or a window of nothing else.
 */
const OF_LIMITS = /limit|remain|quota|throttl|-rl-|api-reset/;
/** `x-votes-limit` counts votes, and `x-bapi-limit` requests: a name in the plural is what is counted. */
const PLURAL = /[^s]s$/;
/** `qpd`: queries in a day. */
const RATE = /^[qrt]p[smhd]$/;

/** A remainder of a limit that is nothing's but the API's own. */
const OF_THE_API = /^(?:x-)?(?:api-)?limit-remaining$/;

/** `start` and `end` are equal where the name has no stem, and begins with what is said. */
type Stem = { readonly start: number; readonly end: number; readonly isWeak: boolean };

/**
 * `rate` and `limit` side by side, `rl` or `throttle` are a stem that proves what the header is about; `limit` or `quota`
 * alone is weak.
 */
function stemOf(words: readonly string[]): Stem {
  const limitAt = words.findIndex((word, at) => word === "limit" && words[at - 1] === "rate");
  if (limitAt > 0) return { start: limitAt - 1, end: limitAt + 1, isWeak: false };
  const throttleAt = words.findIndex((word) => word === "throttle" || word === "rl");
  if (throttleAt >= 0) return { start: throttleAt, end: throttleAt + 1, isWeak: false };
  const at = words.findIndex((word) => word === "limit" || word === "quota");
  if (at >= 0) return { start: at, end: at + 1, isWeak: true };
  const saidAt = Math.max(
    0,
    words.findIndex((word) => PARTS.has(word) || word === "status"),
  );
  return { start: saidAt, end: saidAt, isWeak: true };
}

const PARTS_IF_WEAK = table<FieldPart>(["status", "remaining"]);
const PARTS_IF_PROVEN = table<FieldPart>(["quota", "limit"], ["ttl", "reset"]);

/**
 * What is reset, left or used is the part wherever it stands: `limit-remaining`, `used-total`. Else the last word is:
 * `limit-window` is a window, and `window-limit` none.
 */
function partIn(said: readonly string[], isWeak: boolean): { part: FieldPart; at: number } | undefined {
  const named = said.flatMap((word, at): readonly { part: FieldPart; at: number }[] => {
    const known = (isWeak ? PARTS_IF_WEAK : PARTS_IF_PROVEN).get(word) ?? PARTS.get(word);
    // `remaining-seconds`: of the window.
    const isTimeLeft = known === "remaining" && !isWeak && /^(?:seconds|secs|ms)$/.test(said[at + 1] ?? "");
    const part = isTimeLeft ? "reset" : known;
    // `bucket-size`: whose limit it is. `burst-capacity`: so many at once, which is no limit of a window.
    const isOwner = part === "resource" && at < said.length - 1;
    const isBurst = word === "capacity" && said[at - 1] === "burst";
    return part === undefined || isOwner || isBurst ? [] : [{ part, at }];
  });
  const [first] = ["reset", "remaining", "used"].flatMap(
    (wanted) => named.find(({ part }) => part === wanted) ?? [],
  );
  return first ?? named.at(-1);
}

const AMOUNTS_OF_TIME = /^(?:second|minute|hour|day|week|month)s$/;

function isOfNoLimit(words: readonly string[], { end, isWeak }: Stem, part: FieldPart | undefined): boolean {
  // `x-ratelimit-reset-policy`: how it is reset.
  if (part !== undefined && part !== "policy" && words.includes("policy", end)) return true;
  // `x-remaining-trial-days` is an amount of time, `x-api-quota-request` what this one request cost.
  const isCost = part === undefined && words.includes("request", end);
  const isTime = part === "reset" || part === "window";
  return isWeak && (isCost || (!isTime && words.some((word) => AMOUNTS_OF_TIME.test(word))));
}

type Role =
  | "unit of the number"
  | "window"
  | "requests"
  | "kind of requests"
  | "other unit"
  | "owner"
  | "unknown";

/** These tell one limit from another. */
const QUALIFIERS: readonly Role[] = ["kind of requests", "other unit", "owner", "unknown"];

type OtherWord = { readonly word: string; readonly isSaid: boolean; readonly role: Role };

const TIMES: ReadonlySet<FieldPart> = new Set(["reset", "window"]);

/** All words but those of the stem, the part, what repeats it and fillers, each with its role. */
function otherWords(
  words: readonly string[],
  stem: Stem,
  { part, at: partAt }: { readonly part: FieldPart; readonly at: number | undefined },
): readonly OtherWord[] {
  const others: OtherWord[] = [];
  for (const [at, word] of words.entries()) {
    const isStem = at >= stem.start && at < stem.end;
    const before = words[at - 1] ?? "";
    if (isStem || at === partAt || word === "" || FILLERS.has(word) || repeats(word, before, part)) continue;
    const isSaid = at >= stem.end;
    const known = new Set(others.map(({ role }) => role));
    const isUnit = isSaid && isUnitOfNumber(word, part, at > (partAt ?? at));
    const role = isUnit ? "unit of the number" : roleOf(word, before, part, stem.isWeak, known);
    others.push({ word, isSaid, role: role === "unknown" && !isSaid ? "owner" : role });
  }
  return others;
}

/** It says once more what the part says: `limit-remaining`, `reset-time`, `window-size`. */
function repeats(word: string, before: string, part: FieldPart): boolean {
  const said = PARTS.get(word);
  if (said === "limit" || said === part) return true;
  if (part === "refill") return word === "rate";
  if (part === "reset" && (word === "time" || said === "remaining")) return true;
  return TIMES.has(part) && /^(?:time|size|length)$/.test(word) && PARTS.has(before);
}

/** `reset-minute`: of which window. `window-minute`, `reset-minutes`: how the number is written. */
function isUnitOfNumber(word: string, part: FieldPart, isBehindPart: boolean): boolean {
  if (!TIMES.has(part) || !NUMBER_UNITS_MS.has(word)) return false;
  return /s$|^sec$|^millisecond$/.test(word) || (part === "window" && isBehindPart);
}

function roleOf(word: string, before: string, part: FieldPart, isWeak: boolean, known: Set<Role>): Role {
  // `x-limit-min`: the least. `api-token`: whose limit it is. `tokens`: what it counts.
  if (word === "min" && part === "limit" && isWeak) return "owner";
  if (word === "token" && SCOPES.has(before)) return "owner";
  // Seconds of audio in each minute are two windows: the first is believed, the other names what is counted.
  if (windowMsOfWord(word) !== undefined && !known.has("window")) return "window";
  if (REQUESTS.has(word)) return "requests";
  // `x-ratelimit-login-attempts`: not every request is one.
  const isKind = KINDS_OF_REQUESTS.has(word) && !(word === "attempts" && known.has("unknown"));
  if (OTHER_UNITS.has(word) && (isWeak || !isKind)) return "other unit";
  if (isKind) return "kind of requests";
  // `x-ratelimit-limit-2`: some number their limits.
  return /^\d+$/.test(word) || SCOPES.has(word) || PARTS.has(word) ? "owner" : "unknown";
}

const RATE_LIMIT = /rate[-._]?limit|throttle/;

/**
 * A stem that proves something belongs to it as it is spelt: a proxy's `RateLimit` is not the origin's `X-RateLimit`.
 */
function prefixOf(name: string, words: readonly string[], { start, isWeak }: Stem): string {
  const spelt = isWeak ? null : RATE_LIMIT.exec(name);
  if (spelt !== null) return name.slice(0, spelt.index + spelt[0].length);
  return words
    .slice(0, start)
    .filter((word) => word !== "x")
    .join("-");
}

const LONGEST_NAME = 100;
const MAY_BE_LIMIT = /limit|remain|quota|throttle|left|reset|avail|allot/;
const MOST_NAMES = 512;
/** Every name that is read has one of these words in it; most headers have none. */
export function mayBeLimit(name: string): boolean {
  return name.length <= LONGEST_NAME && MAY_BE_LIMIT.test(name);
}

/** Six names take 50 µs to read, a twentieth of a poll, and answers come with the same ones each time. */
export const limitFieldOf: (name: string) => LimitField | undefined = remembered(MOST_NAMES, (name) =>
  name.includes("retry") ? undefined : read(name),
);
