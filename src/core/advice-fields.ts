import { emptyFamily, quotasLeft, readPart, type Family } from "./advice-family.ts";
import { rateLimitFieldOf } from "./advice-field-name.ts";
import type { Reading } from "./advice-reading.ts";
import type { Headers } from "./exchange.ts";

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
