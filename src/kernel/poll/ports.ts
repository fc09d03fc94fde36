import type { Pause } from "../../features/hints/fields/advice.ts";
import type { Observation } from "../exchange/exchange.ts";
import type { HealthChange } from "./health.ts";
import type { Poll } from "./poll.ts";
import type { SkipCause } from "../exchange/outcome.ts";

/** A key that must be fetched before a poll can be sent with it. */
export interface Token {
  /** For a slot, before it waits for its lease. */
  ask(waiter: TokenWaiter): TokenStanding;
  /** Asked when the lease is there: the wait for it may have been long. */
  isUsable(): boolean;
  /** Tells how the poll that was sent with it last was answered; undefined where the answer does not tell, or none came. */
  judged(accepted: boolean | undefined): void;
}

export type TokenWaiter = {
  /** As of a wait for a lease. Monotonic. */
  readonly dueAtMs: number;
  /** Called once, unless it withdraws: ask again. */
  readonly settled: () => void;
};

export type TokenStanding =
  | { readonly kind: "usable" }
  | { readonly kind: "waiting"; readonly ticket: Ticket }
  | { readonly kind: "unavailable"; readonly failure: TokenFailure };

export type TokenFailure = {
  readonly kind: "failed";
  /** For people: one line, without secrets. */
  readonly detail: string;
  /** The token endpoint itself says that it does not accept our client, or does not allow it this. */
  readonly isRefusal: boolean;
};

/** Why a slot has no lease yet, and which budget holds it back. */
export type WaitReason = { readonly cause: SkipCause; readonly budget: string };

export interface Ticket {
  /** Leaves, and tells what it has waited for. */
  withdraw(): WaitReason;
}

export interface Probe {
  /** Undefined where no key must be fetched. */
  readonly token?: Token | undefined;
  /**
   * Sends one request. Never rejects for anything that an upstream does. After a broken exchange, resolves only once
   * the socket is really closed: the lease is settled by that moment. `mayWrite` is called right before the request is
   * written; if it returns false, nothing is sent. Where the upstream is sent the id of each poll, it is this one.
   */
  poll(signal: AbortSignal, mayWrite?: () => boolean, pollId?: string): Promise<Observation>;
  close(): Promise<void>;
}

/** Everything that happens to one upstream, in this order for each slot. */
export type PollEvent =
  | { readonly kind: "slot_waiting" }
  /** A waiting slot got its lease: every slot waits first, if only for an instant. */
  | { readonly kind: "slot_started" }
  | {
      readonly kind: "slots_skipped";
      readonly cause: SkipCause;
      readonly count: number;
      /** One slot that waited and got no lease, or got its lease and no right to send; absent where it was skipped at once. */
      readonly had?: "waited" | "started" | undefined;
      /** The one that held it back, where the upstream draws on several. */
      readonly budget?: string | undefined;
    }
  | { readonly kind: "polled"; readonly poll: Poll }
  /** The answer of the `polled` before it asked for this. */
  | {
      readonly kind: "pause_requested";
      readonly pause: Pause;
      /** Those for whose limit it was taken. */
      readonly budgets: readonly string[];
      /** Why it was taken for theirs; absent where the upstream draws on no other. */
      readonly because?: string;
      /** No pause is kept for longer. */
      readonly maxPauseMs: number;
    }
  /**
   * Once for each `polled`, with the outcome that counts: at once, or when it is known whether we were offline. Only
   * then is the poll counted, so that nothing has to be taken back: it, and the time that it watched.
   */
  | { readonly kind: "judged"; readonly poll: Poll; readonly watchedMs: number }
  /** Follows the `polled` that caused it, if one did: `poll`. */
  | ({ readonly kind: "health_changed"; readonly poll?: Poll | undefined } & HealthChange)
  /** It left the config. A poll that is in flight still ends. */
  | { readonly kind: "unwatched" };

/** Made once: they come with every poll. */
export const SLOT_WAITING: PollEvent = { kind: "slot_waiting" };
export const SLOT_STARTED: PollEvent = { kind: "slot_started" };

/** Metrics, history, log and state file each are one. */
export interface Recorder {
  record(event: PollEvent): void;
}
