/**
 * Headers of an answer speak about limits: here they have one form. Signals can only tighten limits. What a refusal asks for
 * besides is added once it is known what it means: `poll/requested-pause.ts`.
 */

import { dictionaryIn } from "./amounts.ts";
import { limitFieldOf, type LimitHeader, mayBeLimit } from "./field-name.ts";
import { readFields } from "./fields.ts";
import {
  type LimitFamily,
  type RemainingRequests,
  scarcestOf,
  withoutRepeats,
  MOST_LIMITS,
} from "./limits.ts";
import { readRetryAfter, type AskedWait } from "./retry-after.ts";
import { readStructuredFields } from "./structured-fields.ts";
import {
  type AnswerHead,
  type Headers,
  headerValue,
  type WithoutKeys,
} from "../../../kernel/exchange/exchange.ts";
import { type Find, foundOnce } from "../../../kernel/poll/answer.ts";
import { oneLine } from "../../../kernel/text/escape.ts";
import { ownCopy } from "../../../kernel/text/own-copy.ts";
import { type Field, field } from "../../../kernel/text/field.ts";
import { remembered } from "../../../platform/remembered.ts";
import { parseHttpDate } from "../../../kernel/time/http-date.ts";
import type { Pause } from "../../../kernel/poll/ports.ts";
import { type Anchor, unquoted } from "./time-in.ts";

/** Each limit may have four headers: itself, what is left, its reset, its window. Further ones are left out. */
const LIMIT_HEADERS = 4 * MOST_LIMITS;
const LIMIT_VALUE_CHARS = 4096;
export const LIMIT_VALUES_CHARS = 16_384;
/** Names of limits and of what they are about: each, and all of one answer. */
const LIMIT_TEXT_CHARS = 100;
export const LIMIT_TEXTS_CHARS = 2_000;

export type AnswerHints = {
  /** It asks us to slow down or to pay. Without a pause, the budget backs off by itself. */
  readonly throttled: boolean;
  readonly pause: Pause | undefined;
  /** Every limit that the answer spoke of, whatever it counts. Those of requests may lower a cap. */
  readonly families: readonly LimitFamily[];
  /** The scarcest remainder of requests has the last word; undefined if the answer told none. */
  readonly remaining: RemainingRequests | undefined;
  /** A refusal that tells one reset, and nothing of what is left, means that reset. */
  readonly onlyResetMs?: number;
  /** A spent limit of a day or more is a quota: this is the longest window of those that are spent. */
  readonly exhaustedPerMs: number | undefined;
  /** Its limits are about a resource that others of the budget do not draw on: they are shown, and lower no cap. */
  readonly isOfOneResource?: true;
  /** It says that it is about all that the account asks for. */
  readonly isOfWholeAccount?: true;
  /** So many signals could not be read. */
  readonly malformed: number;
};

export const HINTS: Field<AnswerHints> = field("hints");

/** The headers of an answer are read once, before it is known what the answer means. */
export type HeaderHints = {
  readonly status: number;
  readonly hints: AnswerHints;
  /** `Retry-After` and its like ask for this wait. Most good answers mean nothing by it. */
  readonly retryAfter: AskedWait;
  /** It was answered later than it could have been: a good answer asks for its `Retry-After` only then. */
  readonly isHeldBack: boolean;
  /** Moments in its body are read against the upstream's clock too. */
  readonly anchorMs: Anchor;
};

/** Any bytes are accepted: what cannot be read is counted as malformed. No key is in what it returns. */
export function readAnswerHints(head: AnswerHead, wallNowMs: number, withoutKeys: WithoutKeys): HeaderHints {
  const { status, headers } = head;
  const isThrottled = status === 429 || status === 402;
  let dateMs: number | undefined;
  const anchorMs = (): number =>
    (dateMs ??= parseHttpDate(headerValue(headers, "date") ?? "", wallNowMs) ?? wallNowMs);
  const hints = answerHintsIn(isThrottled, headers, anchorMs, withoutKeys);
  // A limit that tells what is left tells its reset too, with every answer: nobody is to wait for that where some is left.
  const tellsWhatIsLeft = hints.families.some(({ remaining }) => remaining !== undefined);
  return {
    status,
    hints,
    retryAfter: readRetryAfter(headers, anchorMs, isThrottled || !tellsWhatIsLeft),
    isHeldBack: headers.some(([name, value]) => name === "x-ratelimit-delay" && Number(value) > 0),
    anchorMs,
  };
}

/** Nothing where no head came. */
export const headerHints: Find<HeaderHints | undefined> = foundOnce(
  "told",
  ({ exchange: { head }, endedAtMs, withoutKeys }) => head && readAnswerHints(head, endedAtMs, withoutKeys),
);

const SILENT: AnswerHints = {
  throttled: false,
  pause: undefined,
  families: [],
  remaining: undefined,
  exhaustedPerMs: undefined,
  malformed: 0,
};

function answerHintsIn(
  throttled: boolean,
  headers: Headers,
  anchorMs: Anchor,
  withoutKeys: WithoutKeys,
): AnswerHints {
  const named = headers.filter(([name]) => mayBeLimit(name));
  // Most answers have no such header.
  if (named.length === 0) return { ...SILENT, throttled };
  let chars = 0;
  const read = named
    .slice(0, LIMIT_HEADERS)
    .filter(([, { length }]) => length <= LIMIT_VALUE_CHARS && (chars += length) <= LIMIT_VALUES_CHARS);
  const about: LimitHeader[] = [];
  const isGrouped = read.some(([, value]) => SURELY_GROUPED.test(value));
  for (const [name, value] of read) {
    const text = unquoted(isGrouped ? value.replaceAll(GROUP, "") : value);
    if (about.length < LIMIT_HEADERS) about.push(...limitHeadersOf(name, text));
  }
  const structured = readStructuredFields(about);
  const separate = readFields(about, MOST_LIMITS - structured.families.length, anchorMs);
  const told = withoutRepeats([...structured.families, ...separate.families]);
  const families = withSafeTexts(told, withoutKeys);
  // A good answer needs no tokens; but what refused us may be spent tokens.
  const spent = families.filter(
    ({ remaining, unit }) => remaining === 0 && (throttled || unit === "requests"),
  );
  const onlyResetMs = throttled ? onlyResetOf(families, separate.loneResetsMs) : undefined;
  return {
    throttled,
    ...(onlyResetMs !== undefined && { onlyResetMs }),
    ...(named.some(speaksOfAccount) && { isOfWholeAccount: true }),
    pause: pauseOf(spent),
    families,
    remaining: scarcestOf(families),
    exhaustedPerMs: longest(spent.map(({ perMs }) => perMs)),
    // Several members of one header count no more than it.
    malformed: Math.min(
      named.length,
      Math.max(0, named.length - LIMIT_HEADERS) +
        structured.malformed +
        separate.malformed +
        Number(families.length < told.length),
    ),
  };
}

/** `1,000` is no list. Who writes one number so writes all so: beside it, `9,999` is none either. */
const SURELY_GROUPED = /^\s*\d{1,3}(?:,\d{3}){0,3},(?:0\d\d(?!\d)|\d{3}\.\d)/;
const GROUP = /(?<=\d),(?=\d{3}(?!\d))/g;

/** `X-RateLimit-Scope: global`, `X-RateLimit-Global: true` */
function speaksOfAccount([name, value]: Headers[number]): boolean {
  if (name.endsWith("limit-global")) return value === "true";
  return (
    /limit-(?:scope|reason)$/.test(name) &&
    /^(?:account|global|org(?:ani[sz]ation)?|tenant|workspace)$/i.test(value)
  );
}

/** A whole family in one value is read as if each of its members had a header. */
function limitHeadersOf(name: string, value: string): readonly LimitHeader[] {
  const members = dictionaryIn(value)?.map(([key, text]) => [`${name}-${key}`, text] as const);
  return (members ?? [[name, value]]).flatMap(([of, text]) => {
    const field = limitFieldOf(of);
    return field === undefined ? [] : [{ field, value: text }];
  });
}

/**
 * Each text of an answer that an answer's hints hold passes here, and nowhere else leaves this room: cut, and without keys, as
 * a provider may name a limit by the key that it is for.
 */
function withSafeTexts(families: readonly LimitFamily[], withoutKeys: WithoutKeys): readonly LimitFamily[] {
  const safe: (readonly [LimitFamily, readonly string[]])[] = [];
  let left = LIMIT_TEXTS_CHARS;
  for (const family of families) {
    const texts = [family.key, family.unit, family.resource ?? ""].map(shortLine);
    left -= texts.join("\n").length + 1;
    if (left < 0) break;
    safe.push([family, texts]);
  }
  const clean = linesOf(withoutKeys(safe.flatMap(([, texts]) => texts).join("\n")));
  return safe.map(([family], index) => {
    const [key = "", unit = "", resource] = clean.slice(3 * index);
    return { ...family, key, unit, resource: family.resource && resource };
  });
}

const MOST_REMEMBERED = 256;
/** Most upstreams say the same each time, and many the same as others: they share one copy. It takes 5 % less to judge them. */
const linesOf = remembered(MOST_REMEMBERED, (text) => ownCopy(text.split("\n")));

function shortLine(text: string): string {
  return oneLine(text.slice(0, LIMIT_TEXT_CHARS), LIMIT_TEXT_CHARS);
}

/** Spent but reset at once: no reason to pause, and no hint that would replace the budget's own back-off. */
function pauseOf(spent: readonly LimitFamily[]): Pause | undefined {
  const resetMs = longest(spent.map((quota) => quota.resetMs)) ?? 0;
  return resetMs === 0 ? undefined : { scope: "budget", forMs: resetMs, source: "rate_limit" };
}

function longest(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

function onlyResetOf(families: readonly LimitFamily[], loneResetsMs: readonly number[]): number | undefined {
  if (families.some(({ remaining }) => remaining !== undefined)) return undefined;
  const told = families.flatMap(({ resetMs }) => resetMs ?? []);
  const [only, ...others] = new Set([...told, ...loneResetsMs]);
  return others.length === 0 ? only : undefined;
}
