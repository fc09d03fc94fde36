export const VIOLATION_KINDS = [
  "limit",
  "quota",
  "pause",
  "accounts",
  "starving",
  "lost",
  "idle",
  "bug",
] as const;

/** `lost`: not polled again after the last fault. `idle`: slots unused where nothing hindered. */
export type ViolationKind = (typeof VIOLATION_KINDS)[number];

export type Violation = { readonly kind: ViolationKind; readonly atMs: number; readonly text: string };
