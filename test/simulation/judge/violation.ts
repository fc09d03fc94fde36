export const VIOLATION_KINDS = [
  "limit",
  "pause",
  "accounts",
  "starving",
  "lost",
  "idle",
  "bug",
  "twice",
] as const;

/** `twice`: two replicas polled one upstream. `lost`: not polled again after the last fault. `idle`: slots unused where nothing hindered. */
export type ViolationKind = (typeof VIOLATION_KINDS)[number];

export type Violation = { readonly kind: ViolationKind; readonly atMs: number; readonly text: string };
