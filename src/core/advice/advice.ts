/**
 * What the headers of an answer say about limits, in one form. Signals can only tighten limits. What a refusal asks for
 * besides is added once it is known what it means: `poll/obey.ts`.
 */

import { readSeparateFields } from "./family.ts";
import type { QuotaLeft, AdvertisedLimit, ParseList } from "./reading.ts";
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
  readonly limits: readonly AdvertisedLimit[];
  /** The scarcest remainder and its reset; undefined if the answer gave none. */
  readonly remaining:
    | { readonly requests: number; readonly limit: number | undefined; readonly resetMs: number | undefined }
    | undefined;
  /** The window of the exhausted policy, if the answer named one. */
  readonly exhaustedPerMs: number | undefined;
  /** Signals that could not be read. */
  readonly malformed: number;
};

/** The lowest limit for each window. */
function lowestPerWindow(limits: readonly AdvertisedLimit[]): readonly AdvertisedLimit[] {
  const lowest = new Map<number | undefined, AdvertisedLimit>();
  for (const limit of limits) {
    if (limit.requests < (lowest.get(limit.perMs)?.requests ?? Infinity)) lowest.set(limit.perMs, limit);
  }
  return [...lowest.values()];
}

type Windows = ReadonlyMap<number, ReadonlySet<number>>;

/** The windows of limits, by their number of requests. */
function windowsByRequests(limits: readonly AdvertisedLimit[]): Windows {
  const windows = new Map<number, Set<number>>();
  for (const { requests, perMs } of limits) {
    if (perMs !== undefined) windows.set(requests, (windows.get(requests) ?? new Set()).add(perMs));
  }
  return windows;
}

/** `100, 100;w=60` is one limit written twice: the first has the window of the second. */
function withWindow(quota: QuotaLeft, windows: Windows): QuotaLeft {
  if (quota.perMs !== undefined || quota.limit === undefined) return quota;
  const [perMs, ...others] = windows.get(quota.limit) ?? [];
  return others.length > 0 ? quota : { ...quota, perMs };
}

/** Of two spent quotas, the one that resets later; else the smaller part of a known limit. */
function isScarcer(a: QuotaLeft, b: QuotaLeft): boolean {
  if (a.requests === 0 && b.requests === 0) return (a.resetMs ?? 0) > (b.resetMs ?? 0);
  if (a.requests === 0 || b.requests === 0) return a.requests === 0;
  if (a.limit === undefined && b.limit === undefined) return a.requests < b.requests;
  if (a.limit === undefined || b.limit === undefined) return a.limit !== undefined;
  return a.requests / a.limit < b.requests / b.limit;
}

function longest(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((a, b) => Math.max(a, b));
}

/** Spent but reset at once: no reason to pause, and no hint that would replace the budget's own back-off. */
function pauseOf(spent: readonly QuotaLeft[]): Pause | undefined {
  const resetMs = longest(spent.map((quota) => quota.resetMs));
  return resetMs === undefined || resetMs === 0
    ? undefined
    : { scope: "budget", forMs: resetMs, source: "rate_limit" };
}

const NO_SIGNALS: Omit<Advice, "throttled"> = {
  pause: undefined,
  limits: [],
  remaining: undefined,
  exhaustedPerMs: undefined,
  malformed: 0,
};

/** Every header that is read below has one of these words in its name; most answers have none. */
function maySignal(name: string): boolean {
  return name.includes("limit");
}

/** Any bytes are accepted: what cannot be read is counted as malformed. */
export function readAdvice(head: AnswerHead, wallNowMs: number, parseList: ParseList): Advice {
  const throttled = head.status === 429 || head.status === 402;
  if (!head.headers.some(([name]) => maySignal(name))) {
    return { ...NO_SIGNALS, throttled };
  }
  // Moments are in the upstream's clock, which its Date header gives.
  const anchorMs = parseHttpDate(headerValue(head.headers, "date") ?? "", wallNowMs) ?? wallNowMs;
  const structured = readStructuredFields(head.headers, anchorMs, parseList);
  const separate = readSeparateFields(head.headers, anchorMs);

  const advertised = [...structured.limits, ...separate.limits];
  const windows = windowsByRequests(advertised);
  const left = [...structured.left, ...separate.left].map((quota) => withWindow(quota, windows));
  const spent = left.filter((quota) => quota.requests === 0);
  const [first, ...others] = left;
  const scarcest = others.reduce((a, b) => (a !== undefined && isScarcer(b, a) ? b : a), first);
  return {
    throttled,
    pause: pauseOf(spent),
    limits: lowestPerWindow(
      advertised.filter((limit) => limit.perMs !== undefined || !windows.has(limit.requests)),
    ),
    remaining: scarcest && {
      requests: scarcest.requests,
      limit: scarcest.limit,
      resetMs: scarcest.resetMs,
    },
    exhaustedPerMs: longest(spent.map((quota) => quota.perMs)),
    malformed: structured.malformed + separate.malformed,
  };
}
