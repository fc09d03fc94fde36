/** The limits of one answer have one form, in whatever dialect they were told. */

import { SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS } from "../../../kernel/time/duration.ts";

/** No provider that is known speaks of more than a dozen limits in one answer. The rest is left out, longer lists are not read. */
export const MOST_LIMITS = 32;

/** An answer speaks of one limit or of several. What it did not say is undefined. */
export type LimitFamily = {
  /** It is made of the names of its headers, so it is the same in every answer. */
  readonly key: string;
  /** `requests`, or the word for what else is counted. */
  readonly unit: string;
  /** May be a fraction, if it is a rate. */
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  readonly perMs: number | undefined;
  readonly resetMs: number | undefined;
  /** It may be about one endpoint, model, bucket or partition only. */
  readonly resource: string | undefined;
};

/** `requests` allowed in `perMs`, which is undefined if the signal has no window. */
export type AdvertisedLimit = { readonly requests: number; readonly perMs: number | undefined };

/** The lowest limit of requests counts in each window; the shortest window comes first. */
export function limitsOf(families: readonly LimitFamily[]): readonly AdvertisedLimit[] {
  const lowest = new Map<number | undefined, number>();
  for (const { unit, limit, perMs } of families) {
    const isLower = limit !== undefined && limit < (lowest.get(perMs) ?? Infinity);
    if (unit === "requests" && isLower) lowest.set(perMs, limit);
  }
  return [...lowest]
    .map(([perMs, requests]) => ({ requests, perMs }))
    .toSorted((a, b) => (a.perMs ?? Infinity) - (b.perMs ?? Infinity));
}

/** `100, 100;w=60` is one limit written twice: the first has the window of the second, which says no more. */
export function withoutRepeats(families: readonly LimitFamily[]): readonly LimitFamily[] {
  const known = families.map((family) => withWindowOfTwin(family, families));
  const alike = Map.groupBy(known, ({ unit, limit, perMs }) => `${unit} ${limit} ${perMs}`);
  return [...alike.values()].flatMap((twins) => {
    const saysMore = twins.filter(
      ({ remaining, resetMs }) => remaining !== undefined || resetMs !== undefined,
    );
    return saysMore.length > 0 ? saysMore : twins.slice(0, 1);
  });
}

function withWindowOfTwin(family: LimitFamily, families: readonly LimitFamily[]): LimitFamily {
  if (family.perMs !== undefined || family.limit === undefined) return family;
  const windows = new Set(families.flatMap((other) => (mayBeOne(family, other) ? (other.perMs ?? []) : [])));
  const [only, ...others] = windows;
  return only === undefined || others.length > 0 ? family : { ...family, perMs: only };
}

const ROUNDED_MS = 1_000;

/** A minute and a day may allow the same number. What is left, or when it is reset, tells them apart. */
function mayBeOne(a: LimitFamily, b: LimitFamily): boolean {
  const isAlike = a.limit === b.limit && a.unit === b.unit;
  return isAlike && isNear(a.remaining, b.remaining, 0) && isNear(a.resetMs, b.resetMs, ROUNDED_MS);
}

/** Where one of them says nothing, it contradicts nothing. */
function isNear(a: number | undefined, b: number | undefined, tolerance: number): boolean {
  return a === undefined || b === undefined || Math.abs(a - b) <= tolerance;
}

export type RemainingRequests = {
  readonly requests: number;
  readonly limit: number | undefined;
  readonly resetMs: number | undefined;
};

/** The limit of requests that ends first decides how careful we are. */
export function scarcestOf(families: readonly LimitFamily[]): RemainingRequests | undefined {
  const [first, ...others] = families.flatMap(({ unit, remaining, limit, resetMs }) =>
    unit === "requests" && remaining !== undefined ? [{ requests: remaining, limit, resetMs }] : [],
  );
  return first && others.reduce((a, b) => (isScarcer(b, a) ? b : a), first);
}

/**
 * A quota that resets later is scarcer if both are spent; else the smaller part of a known limit is. Where these are equal,
 * the order of the headers must not decide: one limit may be told twice, and only once with its reset.
 */
function isScarcer(a: RemainingRequests, b: RemainingRequests): boolean {
  if (a.requests === 0 && b.requests === 0) return (a.resetMs ?? 0) > (b.resetMs ?? 0);
  if (a.requests === 0 || b.requests === 0) return a.requests === 0;
  if (a.limit === undefined && b.limit === undefined) return a.requests < b.requests;
  if (a.limit === undefined || b.limit === undefined) return a.limit !== undefined;
  const more = a.requests / a.limit - b.requests / b.limit || a.requests - b.requests;
  return more === 0 ? (a.resetMs ?? 0) > (b.resetMs ?? 0) : more < 0;
}

const ROUND_WINDOWS_MS: readonly number[] = [
  ...[1, 2, 3, 5, 10, 15, 20, 30].map((seconds) => seconds * SECOND_MS),
  ...[1, 2, 3, 5, 10, 15, 20, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 4, 5, 6, 8, 12].map((hours) => hours * HOUR_MS),
  ...[1, 7, 30].map((days) => days * DAY_MS),
];

/** Two bounds tell a window only if exactly one round window is between them. */
export function onlyRoundWindowMs(leastMs: number, mostMs: number): number | undefined {
  const [first, ...others] = ROUND_WINDOWS_MS.filter((windowMs) => windowMs >= leastMs && windowMs <= mostMs);
  return others.length > 0 ? undefined : first;
}

export function roundWindowMs(exactMs: number): number | undefined {
  return onlyRoundWindowMs(exactMs, exactMs);
}
