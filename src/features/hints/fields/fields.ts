/** Limit, remaining and reset as headers of their own: the older drafts, and every provider's own spelling. */

import { type Amount, amountsOf, resetsMsOf } from "./amounts.ts";
import type { LimitField, LimitHeader } from "./field-name.ts";
import { type LimitFamily, roundWindowMs } from "./limits.ts";
import { isStructured, type Reading } from "./structured-fields.ts";
import { unitInText, windowMsInText, type FieldPart } from "./words.ts";
import { DAY_MS } from "../../../kernel/time/duration.ts";
import { type Anchor, durationIn, plainNumberOf } from "./time-in.ts";

/** One header says some of this about a limit; several together say more. */
type Said = {
  readonly limits: readonly Amount[];
  readonly remaining: readonly Amount[];
  readonly used: readonly Amount[];
  readonly resetsMs: readonly number[];
  readonly perMs?: number | undefined;
  /** So many more are allowed in each second: it stands for the limit where none is told. */
  readonly refill?: Amount | undefined;
  readonly resource?: string | undefined;
  /** The value of a header tells that something else is counted. */
  readonly otherUnit?: string | undefined;
};

const NOTHING: Said = { limits: [], remaining: [], used: [], resetsMs: [] };

/** Lists are joined; of what can be said only once, the first is believed. */
function together(first: Said, second: Partial<Said>): Said {
  return {
    limits: [...first.limits, ...(second.limits ?? [])],
    remaining: [...first.remaining, ...(second.remaining ?? [])],
    used: [...first.used, ...(second.used ?? [])],
    resetsMs: [...first.resetsMs, ...(second.resetsMs ?? [])],
    perMs: first.perMs ?? second.perMs,
    refill: first.refill ?? second.refill,
    resource: first.resource ?? second.resource,
    otherUnit: first.otherUnit ?? second.otherUnit,
  };
}

type Read = (text: string, numberMs: number | undefined, anchorMs: Anchor) => Partial<Said> | undefined;

/** Each part has its own notation. Undefined if the value cannot be read. */
const READ: Readonly<Record<FieldPart, Read>> = {
  limit: (text) => asLimits(text) ?? (PERIOD.test(text) ? asWindow(text, undefined) : undefined),
  all: (text) => READ.limit(text, undefined, () => 0),
  remaining: (text) => ifRead(amountsOf(text), (amounts) => ({ remaining: amounts.map(withoutLimit) })),
  // `x-ratelimit-state: OK` tells no number.
  used: (text) => ({ used: (amountsOf(text) ?? []).map(withoutLimit) }),
  reset: (text, numberMs, anchorMs) =>
    ifRead(resetsMsOf(text, numberMs ?? 1000, anchorMs), (resetsMs) => ({ resetsMs })),
  window: asWindow,
  refill: (text) => ifRead(asLimits(text)?.limits[0], (refill) => ({ refill })),
  resource: (text) => ({ resource: text, otherUnit: unitInText(text) }),
  kind: (text) => ({ perMs: windowMsInText(text), otherUnit: unitInText(text) }),
  delay: () => ({ otherUnit: "work" }),
  object: (text) => (TELLS_WINDOW.test(text) ? asLimits(text) : undefined),
  policy: asLimits,
};

function ifRead<Value>(
  value: Value | undefined,
  said: (value: Value) => Partial<Said>,
): Partial<Said> | undefined {
  return value === undefined ? undefined : said(value);
}

/** `58/60`: what its name says, of the limit. */
function withoutLimit({ used, ...told }: Amount): Amount {
  return { ...told, amount: used ?? told.amount };
}

/** `5:10`, `100;w=60`, `200/day`: no other number is written so, whatever the name. */
const TELLS_WINDOW = /^\d{1,15}(?::|;w|\/\d{0,4}[a-z]| per )/;

/** `1m`: some write the window where the limit belongs. */
const PERIOD = /^\d{1,4}[smhd]$/;

/**
 * A limit of 0 is not accepted: with no request at all, nobody would see it rise again. In a list, it says that there is
 * none in this window: Brave, `20, 0`.
 */
function asLimits(text: string): Pick<Said, "limits" | "otherUnit"> | undefined {
  if (UNLIMITED.test(text)) return { limits: [{ amount: 0, perMs: undefined }] };
  const limits = amountsOf(text);
  const otherUnit = OTHER_UNIT.exec(text)?.[1];
  return limits?.some(({ amount }) => amount > 0) === true ? { limits, otherUnit } : undefined;
}

/** `500;w=3600;u=cents;s=user` */
const OTHER_UNIT = /;\s?u(?:nit)?=(?!requests?\b)([a-z]{1,20})\b/;

/** There is no limit, whichever field says so, and whatever is left of it. */
const UNLIMITED = /^(?:unlimited|infinity|inf|null|-1)$/i;

const LONGEST_WINDOW_MS = 366 * DAY_MS;

/** A number is in seconds, unless only milliseconds make a round window of it: `60000` is a minute. */
function asWindow(text: string, numberMs: number | undefined): Partial<Said> | undefined {
  const number = plainNumberOf(text);
  const isMs =
    number !== undefined &&
    number >= 1000 &&
    roundWindowMs(number * 1000) === undefined &&
    roundWindowMs(number) !== undefined;
  const perMs =
    number === undefined
      ? (durationIn(text) ?? windowMsInText(text))
      : number * (numberMs ?? (isMs ? 1 : 1000));
  return perMs !== undefined && perMs > 0 && perMs <= LONGEST_WINDOW_MS ? { perMs } : undefined;
}

/** Headers that belong together are about one limit, or about several as lists. */
type Draft = Said & { readonly field: LimitField };

/** An amount that is used tells none alone. */
function limitsIn({ limits, remaining, used, refill }: Said): number {
  const told = Math.max(limits.length, remaining.length, refill === undefined ? 0 : 1);
  return told === 0 ? 0 : Math.max(told, used.length);
}

/**
 * Keeps at most so many limits. Resets under a name that counts nothing are told apart: they may be all that a 429
 * says.
 */
export function readFields(
  headers: readonly LimitHeader[],
  most: number,
  anchorMs: Anchor,
): Reading & { readonly loneResetsMs: readonly number[] } {
  const drafts = new Map<string, Draft>();
  let found = 0;
  let malformed = 0;
  for (const { field, value } of headers) {
    if (isStructured(field, value) || (field.part !== "limit" && UNLIMITED.test(value))) continue;
    const said = READ[field.part](value, field.numberMs, anchorMs);
    if (said === undefined) {
      if (!field.isWeak && field.part !== "object" && field.unit === "requests") malformed++;
      continue;
    }
    const before = drafts.get(field.family);
    const draft = { field, ...together(before ?? { ...NOTHING, perMs: field.perMs }, said) };
    const more = Math.max(1, limitsIn(draft)) - (before === undefined ? 0 : Math.max(1, limitsIn(before)));
    if (found + more > most) {
      malformed++;
      continue;
    }
    found += more;
    drafts.set(field.family, draft);
  }
  const all = complete([...drafts.values()]);
  const lone = all.filter((draft) => !draft.field.isWeak && limitsIn(draft) === 0);
  return {
    families: all.flatMap(familiesIn),
    loneResetsMs: lone.flatMap(({ resetsMs }) => resetsMs),
    malformed,
  };
}

/** First the halves of a limit become one: only then is it known what each limit lacks, and what it shares with others. */
function complete(drafts: readonly Draft[]): readonly Draft[] {
  // Most answers tell one limit: it shares nothing.
  if (drafts.length < 2) return drafts;
  const byWindow = Map.groupBy(drafts, (draft) => draft.perMs ?? draft);
  const byPrefix = Map.groupBy([...byWindow.values()].flatMap(withHalvesJoined), ({ field }) => field.prefix);
  return withOrphanReset(
    [...byPrefix.values()].flatMap((siblings) => withShared(withHalvesJoined(siblings))),
  );
}

/**
 * `-DailyLimit` beside `-Remaining`, or `Rate-Limit-Minute` beside `Minute-Requests-Left`: a limit and a rest that nothing
 * else could complete.
 */
function withHalvesJoined(siblings: readonly Draft[]): readonly Draft[] {
  const [limit, ...otherLimits] = siblings.filter(
    ({ limits, remaining, used }) => limits.length === 1 && remaining.length + used.length === 0,
  );
  const [rest, ...otherRests] = siblings.filter(
    ({ limits, remaining }) => limits.length === 0 && remaining.length === 1,
  );
  const isOnly = otherLimits.length + otherRests.length === 0;
  if (limit === undefined || rest === undefined || !isOnly) return siblings;
  // `X-Votes-Remaining-Day` is no rest of `X-RateLimit-Limit-Day`.
  const isOfSame = rest.field.of === "" || rest.field.of === limit.field.of;
  const isOfWindow = rest.perMs !== undefined && rest.perMs === limit.perMs && isOfSame;
  const isAlike = rest.field.isPlain || isOfWindow;
  if (!isAlike || limit.field.unit !== rest.field.unit) return siblings;
  const whole = { field: limit.field, ...together(limit, rest) };
  return siblings.flatMap((draft) => (draft === limit ? [whole] : draft === rest ? [] : [draft]));
}

/** Limits of one prefix share what is said of none in particular, such as a window or a reset alone. */
function withShared(siblings: readonly Draft[]): readonly Draft[] {
  const limits = siblings.filter(({ limits, remaining }) => limits.length + remaining.length > 0);
  const [shortest] = limits.toSorted((a, b) => (a.perMs ?? Infinity) - (b.perMs ?? Infinity));
  return siblings.map((draft) => {
    if (!limits.includes(draft)) return draft;
    const sharers = siblings.filter((shared) => shared !== draft && shared.field.isPlain);
    // A reset alone is that of the shortest window.
    return sharers.reduce((limit, shared) => withSharedBy(shared, limit, draft === shortest), draft);
  });
}

function withSharedBy(shared: Draft, limit: Draft, isShortest: boolean): Draft {
  const { resource, otherUnit } = shared;
  const isOfNone = limitsIn(shared) === 0;
  const perMs = isOfNone ? shared.perMs : undefined;
  const resetsMs = isOfNone && isShortest && limit.resetsMs.length === 0 ? shared.resetsMs : [];
  return { field: limit.field, ...together(limit, { resource, otherUnit, perMs, resetsMs }) };
}

/**
 * A reset under a name that counts nothing belongs to what is spent, if that is one limit and says no time of its own.
 */
function withOrphanReset(drafts: readonly Draft[]): readonly Draft[] {
  const [orphan, ...otherOrphans] = drafts.filter(
    (draft) => draft.field.isPlain && draft.resetsMs.length > 0 && limitsIn(draft) === 0,
  );
  const [spent, ...otherSpent] = drafts.filter(({ remaining }) =>
    remaining.some(({ amount }) => amount === 0),
  );
  const isOnly = otherOrphans.length + otherSpent.length === 0;
  if (orphan === undefined || spent === undefined || !isOnly || spent.resetsMs.length > 0) return drafts;
  const hasOwn = drafts.some(
    ({ field, limits }) => field.prefix === orphan.field.prefix && limits.length > 0,
  );
  const { resetsMs } = orphan;
  return hasOwn ? drafts : drafts.map((draft) => (draft === spent ? { ...spent, resetsMs } : draft));
}

/** The name proves little, so the rest must: a window, the word for requests, or a limit and what is left of it. */
function isProven({ field, perMs, limits, remaining, used, resetsMs }: Draft): boolean {
  if (!field.isWeak || field.saysRequests || perMs !== undefined) return true;
  if (limits.length === 0) return remaining.length > 0 && resetsMs.length > 0;
  return remaining.length > 0 || used.length > 0 || limits.every((limit) => limit.used !== undefined);
}

/** Lists belong together by position. A single remainder is about the first limit; policies follow. */
function familiesIn(draft: Draft): readonly LimitFamily[] {
  if (!isProven(draft)) return [];
  const { field, remaining, resetsMs } = draft;
  const longestMs = resetsMs.length === 0 ? undefined : Math.max(...resetsMs);
  // A limit of 0 is none; a sum of what is left and what is used may be 0.
  const isLimit = (_: unknown, index: number): boolean => draft.limits[index]?.amount !== 0;
  return Array.from({ length: limitsIn(draft) }, (_, index) => {
    const isAboutFirst = index < Math.max(remaining.length, 1);
    const resetMs = resetsMs.length === limitsIn(draft) ? resetsMs[index] : undefined;
    return {
      key: index === 0 ? field.family : `${field.family} ${index}`,
      unit: draft.otherUnit ?? field.unit,
      ...countsAt(draft, index),
      resetMs: resetMs ?? (isAboutFirst ? longestMs : undefined),
      resource: remaining[index]?.resource ?? draft.resource,
    };
  }).filter(isLimit);
}

/** A limit that is not told is what is left and what is used together, or else what is refilled. */
function countsAt(draft: Draft, index: number): Pick<LimitFamily, "limit" | "remaining" | "perMs"> {
  const told = draft.limits[index] ?? (index < draft.remaining.length ? draft.limits[0] : undefined);
  const left = draft.remaining[index];
  const used = told?.used ?? draft.used[index]?.amount;
  const refill = index === 0 && told === undefined ? draft.refill : undefined;
  // Rounded down: half a request is none.
  const rest = left === undefined ? undefined : Math.floor(left.amount);
  const sum = rest === undefined || used === undefined ? undefined : rest + used;
  const unused =
    told === undefined || used === undefined ? undefined : Math.max(0, Math.floor(told.amount) - used);
  // A refill is by the second. So is a part of a request: it can only be a rate.
  const isRate = refill !== undefined || (told !== undefined && !Number.isInteger(told.amount));
  return {
    limit: told?.amount ?? refill?.amount ?? sum,
    remaining: rest ?? unused,
    perMs: told?.perMs ?? left?.perMs ?? draft.perMs ?? (isRate ? 1000 : undefined),
  };
}
