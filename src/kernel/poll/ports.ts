import type { Observation } from "../exchange/exchange.ts";
import type { HealthChange } from "./health.ts";
import type { Poll } from "./poll.ts";
import { type SkipCause, SKIPS } from "../exchange/outcome.ts";
import type { Reason } from "../exchange/reasons.ts";

/** An answer asks for it. */
export type Pause = {
  readonly scope: "budget" | "upstream";
  /** It counts from the answer on. The ledger caps it. */
  readonly forMs: number;
  /** `retry_after`: the answer says when. `credit_spent`: credit is used up, and nothing says until when. */
  readonly source: "retry_after" | "rate_limit" | "credit_spent";
};

/** Why a slot has no lease yet, or is not used at all; and which budget holds it back, if one does. */
export type HeldBack = { readonly cause: SkipCause; readonly budget?: string | undefined };

/** The graver of two reasons, and the first of two that are equally grave. */
export function graver<A extends HeldBack>(a: A | undefined, b: A | undefined): A | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return SKIPS[b.cause].gravity > SKIPS[a.cause].gravity ? b : a;
}

export interface Ticket {
  /** Leaves, and tells what it has waited for. */
  withdraw(): HeldBack;
}

export type Waiting = { readonly kind: "waiting"; readonly ticket: Ticket };

/** A slot ends as a poll without an answer: nothing is sent. */
export type Ending = {
  readonly kind: "failed";
  readonly reason: Reason;
  /** For people: one line, without secrets. */
  readonly detail: string;
  /** Somebody who knows says so: it needs no confirmation. */
  readonly isConfirmed: boolean;
};

export type GateWaiter = {
  /** As of a wait for a lease. Monotonic. */
  readonly dueMs: number;
  /** Called once, unless it withdraws: ask again. */
  readonly settled: () => void;
};

/** May its upstream be polled now, and still at the first byte? One for each upstream and config. */
export interface Gate {
  /**
   * Asked at the slot, at the first byte and after the poll: so it changes nothing. `isExtra`: nobody waits for this
   * poll, and without it nobody knows less.
   */
  held?(nowMs: number, isExtra: boolean): HeldBack | undefined;
  /** A slot ended so: undefined for one that is used. */
  decided?(cause: SkipCause | undefined): void;
  /** Before the slot waits for its lease, so that nobody keeps one meanwhile. Undefined where it may. */
  prepare?(waiter: GateWaiter): Waiting | Ending | undefined;
  /** Asked when the lease is there, as the wait for it may have been long. `isAgain`: it was prepared again before. */
  atLease?(isAgain: boolean): "prepare" | Ending | undefined;
  /** The poll was recorded. Returns for how long the upstream itself says that it will fail, and so is not polled. */
  ended?(poll: Poll, recorder: Recorder): number | undefined;
  /** Calls back when something holds the upstream back that did not before. */
  onHeld?(tell: () => void): void;
  /** The upstream is polled no more, or another gate is in its place. A poll in flight still ends by it. */
  close?(): void;
}

export interface Probe {
  /** The gate of a key that must be fetched. */
  readonly gate?: Gate | undefined;
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
  /** The answer of the `polled` before it was a refusal, which could have been for the limit of other budgets too. */
  | { readonly kind: "refused"; readonly budgets: readonly string[]; readonly because: string }
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
