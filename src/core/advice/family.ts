import { limitFieldOf, unitInText, windowMsInText, type LimitField } from "./field-name.ts";
import { type Amount, amountsOf } from "./header-list.ts";
import type { LimitFamily, Reading } from "./reading.ts";
import { resetsMsOf } from "./reset.ts";
import { roundWindowMs } from "./round-window.ts";
import { dictionaryIn } from "./dictionary.ts";
import type { Headers } from "../exchange/exchange.ts";
import { DAY_MS } from "../time/duration.ts";
import { durationAt, plainNumberOf, type Anchor as Moment } from "../time/time-in.ts";

/** The headers about one limit, or about several as lists. */
export type Draft = {
  readonly field: Pick<LimitField, "family" | "prefix" | "unit" | "isWeak" | "isPlain" | "saysRequests">;
  perMs: number | undefined;
  /** More of them in each second; the limit, where none is told. */
  refill: Amount | undefined;
  resource: string | undefined;
  /** By the value of a header. */
  otherUnit: string | undefined;
  readonly limits: Amount[];
  readonly remaining: Amount[];
  readonly used: Amount[];
  readonly resetsMs: number[];
};

export function draftOf(field: Draft["field"], perMs: number | undefined): Draft {
  return {
    field,
    perMs,
    refill: undefined,
    resource: undefined,
    otherUnit: undefined,
    limits: [],
    remaining: [],
    used: [],
    resetsMs: [],
  };
}

function addTo<Read>(known: Read[], read: readonly Read[] | undefined): boolean {
  if (read === undefined) return false;
  for (const one of read) known.push(one);
  return true;
}

const LONGEST_WINDOW_MS = 366 * DAY_MS;

/** A number is in seconds, unless only milliseconds make a round window of it: `60000` is a minute. */
function windowMsOf(text: string, numberMs: number | undefined): number | undefined {
  const number = plainNumberOf(text);
  const inMs = number !== undefined && number >= 1000 && numberMs === undefined;
  const isMs = inMs && roundWindowMs(number * 1000) === undefined && roundWindowMs(number) !== undefined;
  const windowMs =
    number === undefined
      ? (durationAt(text)?.ms ?? windowMsInText(text))
      : number * (numberMs ?? (isMs ? 1 : 1000));
  return windowMs !== undefined && windowMs > 0 && windowMs <= LONGEST_WINDOW_MS ? windowMs : undefined;
}

/** A limit of 0 is not accepted: with no request at all, nobody would see it rise again. */
function limitsOf(text: string): readonly Amount[] | undefined {
  const amounts = amountsOf(text);
  return amounts?.every(({ amount }) => amount > 0) === true ? amounts : undefined;
}

const PERIOD = /^\d{1,4}[smhd]$/;

export const LONGEST_RESOURCE = 100;

/** Returns false if the value cannot be read. */
export function readPart(
  draft: Draft,
  { part, numberMs }: Pick<LimitField, "part" | "numberMs">,
  value: string,
  anchorMs: Moment,
): boolean {
  switch (part) {
    case "limit": {
      if (addTo(draft.limits, limitsOf(value))) return true;
      // `1m`: some write the window here.
      const windowMs = PERIOD.test(value) ? windowMsOf(value, undefined) : undefined;
      draft.perMs ??= windowMs;
      return windowMs !== undefined;
    }
    case "remaining":
      return addTo(draft.remaining, amountsOf(value));
    case "used":
      return addTo(draft.used, amountsOf(value));
    case "reset":
      return addTo(draft.resetsMs, resetsMsOf(value, anchorMs, numberMs ?? 1000));
    case "window": {
      const windowMs = windowMsOf(value, numberMs);
      draft.perMs ??= windowMs;
      return windowMs !== undefined;
    }
    case "refill": {
      const [amount] = limitsOf(value) ?? [];
      draft.refill = amount;
      return amount !== undefined;
    }
    case "resource":
      draft.resource ??= value.slice(0, LONGEST_RESOURCE);
      draft.otherUnit ??= unitInText(value);
      return true;
    case "kind":
      draft.perMs ??= windowMsInText(value);
      draft.otherUnit ??= unitInText(value);
      return true;
    case "delay":
      draft.otherUnit ??= "work";
      return true;
    case "object":
      return false;
    case "policy":
    case "all":
      return true;
    default:
      return part satisfies never;
  }
}

/** The name proves little, so the rest must: a window, the word for requests, or a limit and what is left of it. */
function isProven({ field, perMs, limits, remaining, used, resetsMs }: Draft): boolean {
  if (!field.isWeak || field.saysRequests || perMs !== undefined) return true;
  if (limits.length === 0) return remaining.length > 0 && resetsMs.length > 0;
  return remaining.length > 0 || used.length > 0 || limits.every((limit) => limit.used !== undefined);
}

function at<Value>(values: readonly Value[], index: number, rows: number): Value | undefined {
  return values.length === rows ? values[index] : undefined;
}

/** Lists belong together by position. A single remainder is about the first limit; policies follow. */
export function familiesIn(draft: Draft): readonly LimitFamily[] {
  const { field, limits, remaining, used, resetsMs } = draft;
  if (!isProven(draft)) return [];
  const rows = Math.max(limits.length, remaining.length, used.length, draft.refill === undefined ? 0 : 1);
  const longestMs = resetsMs.length === 0 ? undefined : resetsMs.reduce((a, b) => Math.max(a, b));
  return Array.from({ length: rows }, (_, index) => {
    const told = limits[index] ?? (index < remaining.length ? limits[0] : undefined);
    const left = at(remaining, index, rows) ?? (index < remaining.length ? remaining[index] : undefined);
    const taken = told?.used ?? at(used, index, rows)?.amount ?? (index === 0 ? used[0]?.amount : undefined);
    // Rounded down: half a request is none.
    const rest = left === undefined ? undefined : Math.floor(left.amount);
    const sum = rest === undefined || taken === undefined ? undefined : rest + taken;
    const refill = index === 0 && told === undefined ? draft.refill : undefined;
    const limit = told?.amount ?? refill?.amount ?? sum;
    const windowMs =
      told?.perMs ?? left?.perMs ?? (refill === undefined ? draft.perMs : (draft.perMs ?? 1000));
    const isFraction = told !== undefined && !Number.isInteger(told.amount);
    const isAboutFirst = index < Math.max(remaining.length, 1);
    return {
      key: index === 0 ? field.family : `${field.family} ${index}`,
      unit: draft.otherUnit ?? field.unit,
      limit,
      remaining:
        rest ??
        (told !== undefined && taken !== undefined
          ? Math.max(0, Math.floor(told.amount) - taken)
          : undefined),
      // A part of a request can only be a rate.
      perMs: windowMs ?? (isFraction ? 1000 : undefined),
      resetMs: at(resetsMs, index, rows) ?? (isAboutFirst ? longestMs : undefined),
      resource: left?.resource ?? draft.resource,
    };
  });
}

/** What is said of no limit in particular is lent to those with the same prefix. */
function lend(drafts: readonly Draft[]): void {
  for (const lender of drafts) {
    const { field, limits, remaining, used, resetsMs, perMs, resource, otherUnit } = lender;
    if (!field.isPlain) continue;
    const others = drafts.filter((draft) => draft !== lender && draft.field.prefix === field.prefix);
    const byWindow = others
      .filter((draft) => draft.limits.length + draft.remaining.length > 0)
      .toSorted((a, b) => (a.perMs ?? Infinity) - (b.perMs ?? Infinity));
    for (const draft of byWindow) {
      draft.resource ??= resource;
      draft.otherUnit ??= otherUnit;
    }
    if (limits.length + remaining.length + used.length > 0) continue;
    for (const draft of byWindow) draft.perMs ??= perMs;
    const [first] = byWindow;
    if (first !== undefined && first.resetsMs.length === 0) addTo(first.resetsMs, resetsMs);
  }
}

/** `-Requests-Remain` beside `-Limit`: of one limit, if neither says what the other says. */
function joinPlain(drafts: readonly Draft[]): readonly Draft[] {
  const joined = new Set<Draft>();
  for (const draft of drafts) {
    if (!draft.field.isPlain || draft.field.saysRequests) continue;
    const twin = drafts.find(
      ({ field }) => field.isPlain && field.saysRequests && field.prefix === draft.field.prefix,
    );
    if (twin === undefined) continue;
    const isTwice =
      (draft.limits.length > 0 && twin.limits.length > 0) ||
      (draft.remaining.length > 0 && twin.remaining.length > 0) ||
      (draft.resetsMs.length > 0 && twin.resetsMs.length > 0);
    if (isTwice) continue;
    addTo(twin.limits, draft.limits);
    addTo(twin.remaining, draft.remaining);
    addTo(twin.used, draft.used);
    addTo(twin.resetsMs, draft.resetsMs);
    twin.perMs ??= draft.perMs;
    twin.resource ??= draft.resource;
    twin.otherUnit ??= draft.otherUnit;
    joined.add(draft);
  }
  return joined.size === 0 ? drafts : drafts.filter((draft) => !joined.has(draft));
}

/** `-DailyLimit` beside `-Remaining`: the two halves of one limit, where nothing else could be meant. */
function joinHalves(drafts: readonly Draft[]): readonly Draft[] {
  const limits = drafts.filter(
    ({ limits, remaining, used }) => limits.length === 1 && remaining.length + used.length === 0,
  );
  const rests = drafts.filter(({ limits, remaining }) => limits.length === 0 && remaining.length === 1);
  const [limit] = limits;
  const [rest] = rests;
  if (limit === undefined || rest === undefined || limits.length + rests.length > 2) return drafts;
  const isOne =
    rest.field.isPlain && limit.field.prefix === rest.field.prefix && limit.field.unit === rest.field.unit;
  if (!isOne) return drafts;
  addTo(limit.remaining, rest.remaining);
  addTo(limit.resetsMs, rest.resetsMs);
  limit.perMs ??= rest.perMs;
  limit.resource ??= rest.resource;
  limit.otherUnit ??= rest.otherUnit;
  return drafts.filter((draft) => draft !== rest);
}

/** A reset under a name that counts nothing belongs to what is spent, if that is one limit and says no time of its own. */
function lendOrphans(drafts: readonly Draft[]): void {
  const orphans = drafts.filter(
    ({ field, limits, remaining, used, resetsMs }) =>
      field.isPlain && resetsMs.length > 0 && limits.length + remaining.length + used.length === 0,
  );
  const [orphan] = orphans;
  const spent = drafts.filter(({ remaining }) => remaining.some(({ amount }) => amount === 0));
  const [only] = spent;
  if (orphan === undefined || only === undefined || orphans.length + spent.length > 2) return;
  const hasOwn = drafts.some(
    ({ field, limits }) => field.prefix === orphan.field.prefix && limits.length > 0,
  );
  if (only.resetsMs.length === 0 && !hasOwn) addTo(only.resetsMs, orphan.resetsMs);
}

/** A whole family in one value is read as if each of its members had a header. */
function readValue(draft: Draft, field: LimitField, value: string, anchorMs: Moment): boolean {
  if (value.length > LONGEST_VALUE) return false;
  const isObject = value.includes("=") || value.startsWith("{");
  const members = isObject ? dictionaryIn(value) : undefined;
  if (members !== undefined) {
    return members.every(([part, text]) => readPart(draft, { part, numberMs: undefined }, text, anchorMs));
  }
  const part = field.part === "all" ? "limit" : field.part;
  return readPart(draft, { ...field, part }, value, anchorMs);
}

export const LONGEST_VALUE = 4096;

/** The standard's structured field, under whatever prefix: read elsewhere. */
const STATE = /;\s*[rt]=/;

export function isState(name: string, text: string): boolean {
  return name === "ratelimit" || STATE.test(text);
}

/** Limit, remaining and reset as fields of their own: the older drafts, and every provider's own spelling. */
export function readSeparateFields(headers: Headers, anchorMs: Moment): Reading {
  const drafts = new Map<string, Draft>();
  let malformed = 0;
  for (const [name, value] of headers) {
    const field = limitFieldOf(name);
    if (field === undefined || field.part === "policy") continue;
    if (field.part === "all" && isState(name, value)) continue;
    const draft = drafts.get(field.family) ?? draftOf(field, field.perMs);
    const isRead = readValue(draft, field, value.trim(), anchorMs);
    if (isRead) drafts.set(field.family, draft);
    else if (!field.isWeak && field.part !== "object" && field.unit === "requests") malformed++;
  }
  const all = joinHalves(joinPlain([...drafts.values()]));
  lend(all);
  lendOrphans(all);
  const loneResetsMs = all
    .filter(
      ({ field, limits, remaining, used }) =>
        !field.isWeak && limits.length + remaining.length + used.length === 0,
    )
    .flatMap(({ resetsMs }) => resetsMs);
  return { families: all.flatMap(familiesIn), loneResetsMs, malformed };
}
