import type { UpstreamSignals } from "../budget/signals.ts";
import type {
  UsageReport,
  SharedSettlement,
  SharedState,
  SharedTaking,
  SharedTerms,
} from "./shared-terms.ts";

/** What a shared store answers. Where it is away, what was asked may have been done all the same. */
export type Stored<Answer> =
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "away" };

/** The budgets that several replicas share, in a place that each of them may lose at any time. Never rejects. */
export interface LedgerStore {
  take(terms: SharedTerms, lease: string): Promise<Stored<SharedTaking>>;
  /** `agoMs`: how long ago that was. */
  settle(terms: SharedTerms, settled: SharedSettlement, agoMs: number): Promise<Stored<SharedState>>;
  applySignals(terms: SharedTerms, signals: UpstreamSignals, agoMs: number): Promise<Stored<SharedState>>;
  /** How it stands. `isAnew`: the clock there was stepped, so that what it knows is worth nothing. */
  look(terms: SharedTerms, isAnew: boolean): Promise<Stored<SharedState>>;
  /** What a replica has sent by itself, by hour: counted once for each `batch`. */
  reportUsage(terms: SharedTerms, contribution: UsageReport): Promise<Stored<SharedState>>;
  /** One of `seats`, for `forMs`; the same again where this owner has one. Undefined where none is free. */
  takeSeat(seats: number, owner: string, forMs: number): Promise<Stored<number | undefined>>;
  /** Gives the seat back. */
  leaveSeat(owner: string): Promise<Stored<undefined>>;
  /** Hears that it may be there again. */
  onBack(listener: () => void): void;
}
