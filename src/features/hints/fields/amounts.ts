/** One header may hold one number, a list of them, or a whole dictionary. */

import { PARTS, windowMsInText, windowMsOfWord, wordsOfName } from "./words.ts";
import { type Anchor, LONGEST_WAIT_MS, plainNumberOf, timeIn } from "./time-in.ts";
import { MOST_LIMITS } from "./limits.ts";

/** A number of a list has more written beside it in some dialects. */
export type Amount = {
  readonly amount: number;
  readonly perMs: number | undefined;
  /** `32/40` tells what is used and the limit at once. */
  readonly used?: number;
  readonly resource?: string;
};

/** Reads one number, or a list of them: `100, 100;w=60, 5000;w=3600;comment="daytime"`, `300/3000/12000`. */
export function amountsOf(text: string): readonly Amount[] | undefined {
  return readAll(splitList(text), amountOf);
}

/** Reads one reset, or a list of them. A date contains a comma, so the whole text is tried first. */
export function resetsMsOf(text: string, unitMs: number, anchorMs: Anchor): readonly number[] | undefined {
  const whole = resetMsOf(text, unitMs, anchorMs);
  return whole === undefined
    ? readAll(splitList(text), (member) => resetMsOf(member, unitMs, anchorMs))
    : [whole];
}

/** A reset beyond the longest month is not believed: a budget would be held back by a typing error. */
function resetMsOf(text: string, unitMs: number, anchorMs: Anchor): number | undefined {
  const untilMs = timeIn(text, unitMs, anchorMs);
  if (untilMs === undefined || Math.abs(untilMs) > LONGEST_WAIT_MS) return undefined;
  return Math.max(0, Math.ceil(untilMs));
}

/** A list of which one part cannot be read is not read at all: its other numbers would stand at wrong places. */
export function readAll<Member, Read>(
  parts: readonly Member[],
  read: (part: Member) => Read | undefined,
): readonly Read[] | undefined {
  if (parts.length > MOST_LIMITS) return undefined;
  const all: Read[] = [];
  for (const part of parts) {
    const value = read(part);
    if (value === undefined) return undefined;
    all.push(value);
  }
  return all;
}

const QUOTED = /"(?:[^"\\]|\\.?)*"?/gs;
const NUMBERS_WITH_SLASHES = /^\d{1,15}(?:\/\d{1,15}){2,9}$/;
/** `api-usage=14/15000; per-app-api-usage=17/250(appName=x)` */
const USAGES = /^[\w-]{1,60}=\d{1,15}\/\d{1,15}; ?\w/;
const NAMED_NUMBERS = /^(?:name=[\w-]{1,60},\d{1,15};? ?){1,9}$/;

/** What is quoted is a comment or a name, and no number. Two numbers with a slash are one member. */
function splitList(text: string): readonly string[] {
  if (NUMBERS_WITH_SLASHES.test(text)) return text.split("/");
  if (USAGES.test(text)) return text.split(/; ?/, MOST_LIMITS + 1);
  if (!text.includes(",")) return [text];
  if (NAMED_NUMBERS.test(text)) return text.match(/(?<=,)\d+/g) ?? [];
  return text
    .replaceAll(QUOTED, '""')
    .split(",", MOST_LIMITS + 1)
    .map((member) => member.trim());
}

type Form = readonly [form: RegExp, read: (...groups: readonly string[]) => Amount | undefined];

const FORMS: readonly Form[] = [
  // `100`
  [/^(\d{1,15}(?:\.\d{1,17})?)$/, (count) => amount(count)],
  // `32/40`, `api-usage=32/40`, `32/40(user)`: what is used, and the limit.
  [/^(?:[\w-]{1,60}=)?(\d{1,15})\/(\d{1,15})(?:\([^()]{0,100}\))?$/, usedOfLimit],
  // `token:XYZ 1/2000 reset=1234s`
  [/^[\w:-]{1,80} (\d{1,15})\/(\d{1,15})(?: reset=\w{1,20})?$/, usedOfLimit],
  // `20:1`, `5:10:60`: so many in so many seconds, and for how long more are refused.
  [/^(\d{1,15}):(0*[1-9]\d{0,14})(?::\d{1,15})?$/, (count, seconds) => amount(count, Number(seconds) * 1000)],
  // `1 per 5 second`, `200/day`, `30/1m`, `100 requests per minute`
  [/^(\d{1,15})(?: requests?)?(?: per |\/)(\d{0,4}) ?([a-z]{1,8})$/, countInWindow],
  // `Compute/Get30Min;159`
  [
    /^([A-Za-z][\w./-]{0,80});(\d{1,15})$/,
    (resource = "", count) => ({ ...amount(count, windowMsInText(resource)), resource }),
  ],
];

function amount(count: string | undefined, perMs?: number): Amount {
  return { amount: Number(count), perMs };
}

function usedOfLimit(used?: string, limit?: string): Amount {
  return { ...amount(limit), used: Number(used) };
}

function countInWindow(count?: string, times?: string, word?: string): Amount | undefined {
  const perMs = windowMsInText(`${times}${word}`);
  return perMs === undefined ? undefined : amount(count, perMs);
}

function amountOf(text: string): Amount | undefined {
  for (const [form, read] of FORMS) {
    const [whole, ...groups] = form.exec(text) ?? [];
    if (whole !== undefined) return read(...groups);
  }
  // `100;w=60`
  const [count = "", ...parameters] = text.split(";").map((piece) => piece.trim());
  const window = parameters.find((parameter) => /^w(?:indow)?(?:=|$)/.test(parameter));
  const seconds = window === undefined ? undefined : plainNumberOf(window.replace(/^\w+=?/, ""));
  const isWindow = window === undefined || (seconds !== undefined && seconds > 0);
  if (plainNumberOf(count) === undefined || !isWindow) return undefined;
  return amount(count, seconds && seconds * 1000);
}

/**
 * Reads `limit=100, remaining=50, reset=30`, `minute: 6; day: 100`, `Remaining: 394 Time until reset: 3589`, or an
 * object of JSON, which is pairs as well: each key says what a header's name could. Undefined if it is none of these.
 */
export function dictionaryIn(text: string): readonly (readonly [key: string, value: string])[] | undefined {
  if (!/[=:]/.test(text)) return undefined;
  const pairs = text
    .replaceAll(/[{}"']|;$/g, "")
    .split(/[,;]|(?<=\d) (?=[a-z][a-z -]{0,60}[=:])/i, MOST_LIMITS + 1);
  const members = readAll(pairs, (pair) => /^([^=:]{1,60})[=:](.*)$/s.exec(pair) ?? undefined);
  const told = members?.map(
    ([, key = "", value = ""]) => [key.trim().toLowerCase().replaceAll(" ", "-"), value.trim()] as const,
  );
  if (told?.some(([key]) => saysAmount(key)) !== true) return undefined;
  // The name of a family is no resource.
  return told.filter(([key]) => key !== "name");
}

function saysAmount(key: string): boolean {
  const parts = new Set(wordsOfName(key).map((word) => PARTS.get(word)));
  return parts.has("limit") || parts.has("remaining") || windowMsOfWord(key) !== undefined;
}
