import type { Leases } from "../../src/kernel/budget/leases.ts";

/** Grants at once, or tells when to ask again. */
export function takeLease(
  leases: Leases,
  nowMs: number,
  caps: readonly number[],
): { readonly kind: "granted" } | { readonly kind: "wait"; readonly untilMs: number } {
  const untilMs = leases.freeAtMs(nowMs, caps);
  if (untilMs > nowMs) return { kind: "wait", untilMs };
  leases.grant(nowMs);
  return { kind: "granted" };
}
