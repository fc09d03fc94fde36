/**
 * What the headers of an answer say about limits, in one form. Signals can only tighten limits. What a refusal asks for
 * besides is added once it is known what it means: `poll/obey.ts`.
 */

import { MOST_LIMITS } from "./amounts.ts";
import { readFields } from "./fields.ts";
import type { AdvertisedLimit, LimitFamily, ParseList } from "./reading.ts";
import { readStructuredFields } from "./structured-fields.ts";
import { type AnswerHead, headerValue } from "../exchange/exchange.ts";
import { parseHttpDate } from "../time/http-date.ts";

export type Pause = {
  readonly scope: "budget" | "upstream";
  /** From the answer on. The ledger caps it. */
  readonly forMs: number;
  /** `retry_after`: the answer says when. `credit_spent`: credit is used up, and nothing says until when. */
  readonly source: "retry_after" | "rate_limit" | "credit_spent";
};

export type Advice = {
  /** It asks us to slow down or to pay. Without a pause, the budget backs off by itself. */
  readonly throttled: boolean;
  readonly pause: Pause | undefined;
  /** Every limit that the answer spoke of, whatever it counts. */
  readonly families: readonly LimitFamily[];
  /** Of requests. */
  readonly limits: readonly AdvertisedLimit[];
  /** Of requests: the scarcest remainder and its reset; undefined if the answer gave none. */
  readonly remaining: RemainingRequests | undefined;
  /** The one reset that the answer told, where it told nothing of what is left. */
  readonly onlyResetMs?: number;
  /** The window of the exhausted policy, if the answer named one. */
  readonly exhaustedPerMs: number | undefined;
  /** Its limits are about a resource that others of the budget do not draw on: shown, but no limits of the budget. */
  readonly isOfOneResource?: true;
  /** Signals that could not be read. */
  readonly malformed: number;
};

/** The lowest limit for each window. */
function lowestPerWindow(limits: readonly AdvertisedLimit[]): readonly AdvertisedLimit[] {
  const lowest = new Map<number | undefined, AdvertisedLimit>();
  for (const limit of limits) {
    if (limit.requests < (lowest.get(limit.perMs)?.requests ?? Infinity)) lowest.set(limit.perMs, limit);
  }
  return [...lowest.values()].toSorted((a, b) => (a.perMs ?? Infinity) - (b.perMs ?? Infinity));
}

function isOfRequests({ unit }: LimitFamily): boolean {
  return unit === "requests";
}

export function limitsOf(families: readonly LimitFamily[]): readonly AdvertisedLimit[] {
  return lowestPerWindow(
    families.flatMap(({ unit, limit, perMs }) =>
      unit === "requests" && limit !== undefined ? [{ requests: limit, perMs }] : [],
    ),
  );
}

/** `100, 100;w=60` is one limit written twice: the first has the window of the second, which says no more. */
function withoutTwins(families: readonly LimitFamily[]): readonly LimitFamily[] {
  const known = families.map((family) => withWindowOfTwin(family, families));
  return known.filter((family, index) => {
    const saysMore = family.remaining !== undefined || family.resetMs !== undefined;
    return (
      saysMore ||
      !known.some(
        (other, place) => place !== index && isTwin(other, family) && saysAsMuch(other, place < index),
      )
    );
  });
}

function saysAsMuch({ remaining, resetMs }: LimitFamily, isEarlier: boolean): boolean {
  return isEarlier || remaining !== undefined || resetMs !== undefined;
}

function isTwin(a: LimitFamily, b: LimitFamily): boolean {
  return a.limit === b.limit && a.unit === b.unit && a.perMs === b.perMs;
}

function withWindowOfTwin(family: LimitFamily, families: readonly LimitFamily[]): LimitFamily {
  const { limit, perMs, unit } = family;
  if (perMs !== undefined || limit === undefined) return family;
  const windows = new Set(
    families.flatMap((other) =>
      other.limit === limit && other.unit === unit && mayBeOne(family, other) ? (other.perMs ?? []) : [],
    ),
  );
  const [only, ...others] = windows;
  return only === undefined || others.length > 0 ? family : { ...family, perMs: only };
}

/** A minute and a day may allow the same number. What is left, or when it is reset, tells them apart. */
function mayBeOne(a: LimitFamily, b: LimitFamily): boolean {
  return isNear(a.remaining, b.remaining, 0) && isNear(a.resetMs, b.resetMs, ROUNDED_MS);
}

const ROUNDED_MS = 1_000;

/** So it is where one of them says nothing. */
function isNear(a: number | undefined, b: number | undefined, tolerance: number): boolean {
  return a === undefined || b === undefined || Math.abs(a - b) <= tolerance;
}

export type RemainingRequests = {
  readonly requests: number;
  readonly limit: number | undefined;
  readonly resetMs: number | undefined;
};

type Left = LimitFamily & { readonly remaining: number };

function isLeft(family: LimitFamily): family is Left {
  return family.remaining !== undefined;
}

/** Of two spent quotas, the one that resets later; else the smaller part of a known limit. */
function isScarcer(a: Left, b: Left): boolean {
  if (a.remaining === 0 && b.remaining === 0) return (a.resetMs ?? 0) > (b.resetMs ?? 0);
  if (a.remaining === 0 || b.remaining === 0) return a.remaining === 0;
  if (a.limit === undefined && b.limit === undefined) return a.remaining < b.remaining;
  if (a.limit === undefined || b.limit === undefined) return a.limit !== undefined;
  return a.remaining / a.limit < b.remaining / b.limit;
}

function scarcestOf(families: readonly LimitFamily[]): RemainingRequests | undefined {
  const [first, ...others] = families.filter(isLeft);
  if (first === undefined) return undefined;
  const { remaining, limit, resetMs } = others.reduce((a, b) => (isScarcer(b, a) ? b : a), first);
  return { requests: remaining, limit, resetMs };
}

function longest(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((a, b) => Math.max(a, b));
}

/** Spent but reset at once: no reason to pause, and no hint that would replace the budget's own back-off. */
function pauseOf(spent: readonly LimitFamily[]): Pause | undefined {
  const resetMs = longest(spent.map((quota) => quota.resetMs));
  return resetMs === undefined || resetMs === 0
    ? undefined
    : { scope: "budget", forMs: resetMs, source: "rate_limit" };
}

function onlyResetOf(families: readonly LimitFamily[], loneResetsMs: readonly number[]): number | undefined {
  if (families.some(isLeft)) return undefined;
  const told = families.flatMap(({ resetMs }) => resetMs ?? []);
  const [only, ...others] = new Set([...told, ...loneResetsMs]);
  return others.length === 0 ? only : undefined;
}

const SILENT: Advice = {
  throttled: false,
  pause: undefined,
  families: [],
  limits: [],
  remaining: undefined,
  exhaustedPerMs: undefined,
  malformed: 0,
};
const REFUSED: Advice = { ...SILENT, throttled: true };

const MAY_SIGNAL = /limit|remain|quota|retry/;

/** Most answers have no such header. An upstream sends the same names each time. */
const known = new Map<string, boolean>();
const MOST_KNOWN = 1_000;

function maySignal(header: readonly [name: string, value: string]): boolean {
  const [name] = header;
  let may = known.get(name);
  if (may === undefined) {
    may = MAY_SIGNAL.test(name);
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(name, may);
  }
  return may;
}

/** Any bytes are accepted: what cannot be read is counted as malformed. */
export function readAdvice(head: AnswerHead, wallNowMs: number, parseList: ParseList): Advice {
  const throttled = head.status === 429 || head.status === 402;
  if (!head.headers.some(maySignal)) return throttled ? REFUSED : SILENT;
  // Moments are in the upstream's clock, which its Date header gives.
  let readMs: number | undefined;
  const anchorMs = (): number =>
    (readMs ??= parseHttpDate(headerValue(head.headers, "date") ?? "", wallNowMs) ?? wallNowMs);
  const structured = readStructuredFields(head.headers, parseList);
  const separate = readFields(head.headers, MOST_LIMITS - structured.families.length, anchorMs);

  const families = withoutTwins([...structured.families, ...separate.families]);
  const ofRequests = families.filter(isOfRequests);
  // A good answer needs no tokens; but what refused us may be spent tokens.
  const spent = (throttled ? families : ofRequests).filter(({ remaining }) => remaining === 0);
  const onlyResetMs = throttled ? onlyResetOf(families, separate.loneResetsMs) : undefined;
  return {
    throttled,
    ...(onlyResetMs !== undefined && { onlyResetMs }),
    pause: pauseOf(spent),
    families,
    limits: limitsOf(families),
    remaining: scarcestOf(ofRequests),
    exhaustedPerMs: longest(spent.map((quota) => quota.perMs)),
    malformed: structured.malformed + separate.malformed,
  };
}
