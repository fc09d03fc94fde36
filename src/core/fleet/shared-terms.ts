/** What replicas and the keeper of their shared budgets say to each other. */

import type { Settlement } from "../budget/ledger.ts";

export type SharedRate = {
  readonly perMs: number;
  /** What may be leased here: the budget's cap without what is set aside. */
  readonly cap: number;
  /** Set aside for the replicas' own reserves. */
  readonly aside: number;
};

/** A budget as a replica's config has it; it comes with every question, as two configs may differ for a while. */
export type SharedTerms = {
  /** Who asks. */
  readonly replica: string;
  readonly budget: string;
  readonly rates: readonly SharedRate[];
  readonly share: number;
  readonly maxPauseMs: number;
  readonly lingerMs: number;
  /** How long after it was taken the request of a replica that died may still be counted. */
  readonly holdMs: number;
  readonly quota: { readonly requests: number; readonly perMs: number } | undefined;
};

export type SharedSettlement = {
  readonly lease: string;
  readonly settlement: Settlement;
  /** From the taking to the settling. */
  readonly heldMs: number;
};

/** How a shared budget stands. Durations from now on, by the keeper's clock. */
export type SharedState = {
  /** The keeper's clock: only to be compared with itself. */
  readonly nowMs: number;
  /** Names since when everything is known; another one, and all before is forgotten. */
  readonly epoch: string;
  /** How long it still refuses, as it does not know everything yet; 0 where it does. */
  readonly coldMs: number;
  /** In the order of the rates that were asked for. */
  readonly caps: readonly number[];
  readonly leases: readonly number[];
  readonly pausedMs: number;
  readonly yieldMs: number;
  readonly advertisedLimit: number | undefined;
  readonly advertisedRemaining: number | undefined;
  readonly quotaUsed: number;
  /** Whether this replica's own counts are in `quotaUsed`. */
  readonly hasReported: boolean;
  /** Changes whenever a wait may have become shorter than it was said to be. */
  readonly freed: number;
};

export type SharedTaking = SharedState & {
  readonly decision:
    | { readonly kind: "granted" }
    | {
        readonly kind: "wait";
        readonly waitMs: number;
        readonly cause: "budget" | "backoff" | "quota" | "ledger";
      };
};

/** Requests by hour since the epoch of the calendar. */
export type UsageReport = {
  /** Counted once: of one replica, each is later than the one before. */
  readonly batch: string;
  readonly byHour: ReadonlyMap<number, number>;
};

/** A step of the keeper's clock that is no longer than this may go unnoticed: so much longer a lease is held. */
export const CLOCK_STEP_MS = 10;
