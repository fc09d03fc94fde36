import type { AdvertisedLimit, QuotaLeft, Reading } from "./reading.ts";
import { limitsOf, plainNumberOf, readAll, splitOutsideQuotes } from "./header-list.ts";
import { resetsMsOf } from "./reset.ts";
import { rateLimitFieldOf, type FamilyPart } from "./field-name.ts";
import type { Headers } from "../exchange/exchange.ts";

/** The headers about one limit, or about several as lists. */
export type Family = {
  readonly perMs: number | undefined;
  readonly limits: AdvertisedLimit[];
  readonly remaining: number[];
  readonly resetsMs: number[];
};

export function emptyFamily(perMs: number | undefined): Family {
  return { perMs, limits: [], remaining: [], resetsMs: [] };
}

/** Rounded down: half a request is none. */
function remainingOf(text: string): number | undefined {
  const number = plainNumberOf(text);
  return number === undefined ? undefined : Math.floor(number);
}

function addTo<Read>(known: Read[], read: readonly Read[] | undefined): boolean {
  if (read === undefined) return false;
  for (const one of read) known.push(one);
  return true;
}

/** Returns false if the value cannot be read. */
export function readPart(
  family: Family,
  part: FamilyPart,
  value: string,
  { anchorMs, unit }: { readonly anchorMs: number; readonly unit: "s" | "ms" },
): boolean {
  switch (part) {
    case "limit": {
      const limits = limitsOf(value)?.map((limit) => ({ ...limit, perMs: limit.perMs ?? family.perMs }));
      return addTo(family.limits, limits);
    }
    case "remaining":
      return addTo(family.remaining, readAll(splitOutsideQuotes(value, ","), remainingOf));
    case "reset":
      return addTo(family.resetsMs, resetsMsOf(value, anchorMs, unit));
    default:
      return part satisfies never;
  }
}

/** Lists of remainders, limits and resets belong together by position. A single value applies to all. */
export function quotasLeft({ perMs, limits, remaining, resetsMs }: Family): readonly QuotaLeft[] {
  const longestMs = resetsMs.length === 0 ? undefined : resetsMs.reduce((a, b) => Math.max(a, b));
  return remaining.map((requests, index) => {
    // A list of limits begins with the one the remainder is about. Policies follow.
    const limit = limits[remaining.length === limits.length ? index : 0];
    const resetMs = resetsMs.length === remaining.length ? resetsMs[index] : longestMs;
    return { requests, limit: limit?.requests, perMs: limit?.perMs ?? perMs, resetMs };
  });
}

/** Limit, remaining and reset as fields of their own: the older drafts, and every provider's own spelling. */
export function readSeparateFields(headers: Headers, anchorMs: number): Reading {
  const families = new Map<string, Family>();
  let malformed = 0;
  for (const [name, value] of headers) {
    const field = rateLimitFieldOf(name);
    if (field === undefined) continue;
    const family = families.get(field.family) ?? emptyFamily(field.perMs);
    families.set(field.family, family);
    if (!readPart(family, field.part, value.trim(), { anchorMs, unit: field.unit })) malformed++;
  }
  const all = [...families.values()];
  return { limits: all.flatMap((family) => family.limits), left: all.flatMap(quotasLeft), malformed };
}
