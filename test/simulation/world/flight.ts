import type { Terms } from "./terms.ts";

/** One request on its way. All moments are the world's. */
export type Flight = {
  /** In the order of sending, over all lives. */
  readonly number: number;
  readonly life: number;
  readonly upstream: string;
  readonly credential: string;
  readonly budget: string;
  readonly sentAtMs: number;
  readonly terms: Terms;
  /** What the upstream's words had lowered the caps to when it was sent, by window. */
  readonly loweredCaps: ReadonlyMap<number, number>;
  /** The same request, as the other budgets of its upstream count it. */
  readonly also: readonly Flight[];
};
