import type { SharedState, SharedTaking, SharedTerms } from "../../core/fleet/ledger-store.ts";

/** The fields before those of the rates. */
const FIXED = 10;

/** As `standing` in redis/budget.lua writes it; undefined where it did not. */
export function standingIn(value: unknown, terms: SharedTerms): SharedState | undefined {
  const fields = fieldsIn(value);
  if (fields === undefined || fields.length < FIXED + 2 * terms.rates.length) return undefined;
  const text = (index: number): string => fields[index] ?? "";
  const numberAt = (index: number): number => Number(text(index));
  const optional = (index: number): number | undefined => (text(index) === "" ? undefined : numberAt(index));
  return {
    nowMs: numberAt(0),
    epoch: text(1),
    coldMs: numberAt(2),
    pausedMs: numberAt(3),
    yieldMs: numberAt(4),
    advertisedLimit: optional(5),
    advertisedRemaining: optional(6),
    quotaUsed: numberAt(7),
    hasReported: text(8) === "1",
    freed: numberAt(9),
    caps: terms.rates.map((_, index) => numberAt(FIXED + 2 * index)),
    leases: terms.rates.map((_, index) => numberAt(FIXED + 2 * index + 1)),
  };
}

/** A standing, with a wait and its cause behind it. */
export function takingIn(value: unknown, terms: SharedTerms): SharedTaking | undefined {
  const standing = standingIn(value, terms);
  const [waitMs, cause] = fieldsIn(value)?.slice(FIXED + 2 * terms.rates.length) ?? [];
  if (standing === undefined) return undefined;
  if (cause === "granted") return { ...standing, decision: { kind: "granted" } };
  if (cause !== "budget" && cause !== "backoff" && cause !== "quota" && cause !== "ledger") return undefined;
  return { ...standing, decision: { kind: "wait", waitMs: Number(waitMs), cause } };
}

function fieldsIn(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const fields: readonly unknown[] = value;
  return fields.every((field) => typeof field === "string") ? fields : undefined;
}
