/**
 * One process of a fleet leads, the others stand by. `register.ts` is the lock's port, `election.ts` decides who leads,
 * `notes.ts` what the next leader must know and when it may begin; here both are carried out.
 */

import type { Register } from "./register.ts";

export interface LeadClock {
  /** Monotonic milliseconds. */
  now(): number;
  /** Milliseconds since the machine booted: they go on while it is suspended, and no step of the wall clock moves them. */
  sinceBootMs(): number;
  /** For display only. */
  wallNow(): number;
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

export type BudgetTerms = {
  readonly budget: string;
  /** Of all that the two waits follow from: processes with the same digest pace and hold leases alike. */
  readonly digest: string;
  /** How long a process waits that was started again with the same terms. */
  readonly coldMs: number;
  /** After this time nothing counts any more that was sent before. */
  readonly wholeMs: number;
};

export type LeaderParts = {
  readonly lock: Register;
  readonly notes: Register;
  readonly clock: LeadClock;
  readonly ttlMs: number;
  readonly name: string;
  readonly url: string | undefined;
  /** Of the config, as it is now. */
  readonly digest: () => string;
  /** Of every budget of the config, as it is now. */
  readonly terms: () => readonly BudgetTerms[];
  readonly random: () => number;
  /** Another text each time. */
  readonly newId: () => string;
  readonly onLead: (reign: Reign) => void;
  readonly onLost: (reign: Reign) => void;
};

/** From winning the lock until losing it. It never comes back: the next one is another. */
export interface Reign {
  readonly term: number;
  /** What the leader before wrote, in `facts` as it was given to `write`. */
  readonly notes:
    | { readonly kind: "read"; readonly facts: unknown; readonly isSure: boolean }
    /** `isLoss`: there was a leader before, and its notes should be there. */
    | { readonly kind: "none"; readonly isLoss: boolean };
  /** By the monotonic clock. A budget that came with a reload begins when its ledger says so: now. */
  startsAtMs(budget: string): number;
  /** To be asked in the turn of a request's first byte. Without a budget: may anything be sent at all? */
  maySend(budget?: string): boolean;
  /** All facts, each time. True once the next leader will find them. One call at a time. */
  write(facts: unknown): Promise<boolean>;
  /** Call it after a reload: a budget sends under its new terms once they are noted. */
  termsChanged(): void;
}

export type LeadState = {
  /** `election`: nobody is known to lead. `foreign`: the lock's key holds something that is not ours, or newer. */
  readonly role: "leading" | "standby" | "election" | "foreign";
  readonly leader:
    | {
        readonly name: string;
        readonly url: string | undefined;
        readonly term: number;
        readonly digest: string;
        readonly isMe: boolean;
        /** By the leader's wall clock. */
        readonly sinceWallMs: number;
      }
    | undefined;
  /** No call to the lock has been answered since then, by the monotonic clock. */
  readonly unreachableSinceMs: number | undefined;
};

export interface Leader {
  state(): LeadState;
  /**
   * Nothing is sent from now on. It leads on until `drained` tells for each budget how many ms its last lease still
   * counts (0: none does), notes that, frees the lock and ends. It ends in any case soon after its right would.
   */
  stop(drained: Promise<ReadonlyMap<string, number>>): Promise<void>;
}

export type StartElection = (parts: LeaderParts) => Leader;
