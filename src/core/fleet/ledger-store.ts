/** The store of shared budgets (Redis): what replicas ask of it, and what it answers. */

import type { Settlement } from "../budget/ledger.ts";
import type { UpstreamSignals } from "../budget/signals.ts";
import { DAY_MS } from "../time/duration.ts";

/** Any replica may lose the store at any time. Never rejects. */
export interface LedgerStore {
  /** A lease of each budget, all under this name, or of none. */
  take(terms: readonly SharedTerms[], lease: string): Promise<Stored<SharedTaking>>;
  report(terms: SharedTerms, messages: readonly SharedMessage[]): Promise<Stored<SharedState>>;
  /** `isAnew`: the store's clock was stepped, so it must forget what it knows. */
  look(terms: SharedTerms, isAnew: boolean): Promise<Stored<SharedState>>;
  reportUsage(terms: SharedTerms, report: UsageReport): Promise<Stored<SharedState>>;
  /** Takes or renews one of `seats` for `forMs`. Undefined if none is free. */
  takeSeat(seats: number, owner: string, forMs: number): Promise<Stored<number | undefined>>;
  leaveSeat(owner: string): Promise<Stored<undefined>>;
  /** Calls back when the store may be reachable again. */
  onBack(listener: () => void): void;
}

/** `away`: no answer, but the store may have done it all the same. */
export type Stored<Answer> =
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "away" };

/** A budget by one replica's config. Sent with every call, as two configs may differ for a while. */
export type SharedTerms = {
  /** The caller. */
  readonly replica: string;
  readonly budget: string;
  readonly rates: readonly SharedRate[];
  readonly share: number;
  readonly maxPauseMs: number;
  readonly lingerMs: number;
  /** How long after it was taken the request of a dead replica may still be counted. */
  readonly holdMs: number;
  readonly quota: { readonly requests: number; readonly perMs: number } | undefined;
};

export type SharedRate = {
  readonly perMs: number;
  /** What may be leased here: the budget's cap minus `aside`. */
  readonly cap: number;
  /** Set aside for the replicas' own reserves. */
  readonly aside: number;
  /** This replica's own reserve; 0 if it has no right to one. */
  readonly own: number;
};

export type SharedSettlement = {
  readonly lease: string;
  readonly settlement: Settlement;
  /** From taking to settling. */
  readonly heldMs: number;
};

/** What happened at a replica, `agoMs` ago. It may be told twice. */
export type SharedMessage = { readonly agoMs: number } & (
  | ({ readonly kind: "settled" } & SharedSettlement)
  | { readonly kind: "signalled"; readonly signals: UpstreamSignals }
  /** By the operator's word, pause and yielding end. Not heard if it comes late. */
  | { readonly kind: "resumed" }
);

/** Requests by hour since the epoch of the calendar, counted once for each `batch` of a replica. */
export type UsageReport = {
  readonly batch: string;
  readonly byHour: ReadonlyMap<number, number>;
};

/** A shared budget now. Durations from now on, by the store's clock. */
export type SharedState = {
  /** The store's clock: only to be compared with itself. */
  readonly nowMs: number;
  /** Changes when the store has lost what it knew. */
  readonly epoch: string;
  /** How long the store still refuses, because it does not know every earlier request. */
  readonly coldMs: number;
  /** In the order of the rates in the terms. */
  readonly caps: readonly number[];
  readonly leases: readonly number[];
  /** How much the store sets aside for this replica, for a day from now. */
  readonly reserved: readonly number[];
  readonly pausedMs: number;
  readonly yieldMs: number;
  readonly advertisedLimit: number | undefined;
  readonly advertisedRemaining: number | undefined;
  readonly quotaUsed: number;
  /** Whether `quotaUsed` includes this replica's own count. */
  readonly hasReported: boolean;
  /** Changes when a wait may have become shorter than announced. */
  readonly freed: number;
  /** Refusals without a hint in a row: the next answer that is none ends the count. */
  readonly refusals: number;
};

export type SharedTaking = {
  /** In the order of the terms. */
  readonly states: readonly SharedState[];
  /** What stands against it, at most once for each budget. With none, all are granted. */
  readonly waits: readonly SharedWait[];
};

export type SharedWait = {
  readonly budget: string;
  readonly waitMs: number;
  readonly cause: "budget" | "backoff" | "quota" | "ledger";
};

/** How long what is set aside for a replica is kept after its last call, at least. */
export const RESERVE_KEPT_MS: number = DAY_MS;

/** A shorter step of the store's clock may go unnoticed, so leases are held this much longer. */
export const CLOCK_STEP_MS = 10;
