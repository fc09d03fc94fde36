/** The ledger decides who may send a request now. */

import type { Config, Rate } from "../config/config.ts";
import { type Exchange, wasSent } from "../exchange/exchange.ts";
import type { SkipCause } from "../exchange/outcome.ts";
import type { Poll } from "../poll/poll.ts";
import type { Fields } from "../text/field.ts";
import type { Sender } from "./needs.ts";

/** What a request needs before it may be sent. It is made when its sender is opened, and is the same for each request. */
export type Ask = {
  /** At least one: it takes a lease of each. */
  readonly budgets: readonly string[];
  /** What else it takes of them: each field is read by one constraint. */
  readonly fields: Fields;
  /** Whoever has the same one waits for the same. */
  readonly key: string;
};

export function askFor(budgets: readonly string[], fields: Fields = {}): Ask {
  return { budgets, fields, key: [...budgets, ...Object.entries(fields).flat()].join(" ") };
}

export interface Ledger {
  /** Grants a lease of each budget in one step, or of none. */
  take(ask: Ask): LeaseDecision | Promise<LeaseDecision>;
  /** What stands against such a request besides the leases of others. */
  heldBack(ask: Ask): Wait | undefined;
  /** One of them allows less than the config says. */
  isLowered(budgets: readonly string[]): boolean;
  /** The least time between two requests that draw on all of these, by what they allow now. */
  paceGapMs(budgets: readonly string[]): number;
  /** Calls back when a wait may have become shorter than announced. */
  onChange(listener: (budget: string) => void): void;
}

/**
 * What holds budgets back besides leases: one object for all of them, as what is said of one may be meant for another.
 * All constraints are asked in the turn in which the lease is granted.
 */
export interface Constraint {
  wait(budget: string, ask: Ask, nowMs: number): Wait | undefined;
  /** It can only lower the cap of a rate. */
  capOf?(budget: string, rate: Rate, cap: number, nowMs: number): number;
  /** Where something must be written before such a request may leave: its place is kept meanwhile. */
  reserve?(ask: Ask): Reservation | undefined;
  grant(budget: string, ask: Ask): Granted;
  change(config: Config, senders: SendersByBudget, ledger: LedgerView): void;
}

export type SendersByBudget = ReadonlyMap<string, readonly Sender[]>;

/** One request of one budget. */
export type Granted = {
  settle(settlement: Settlement): void;
  /** Of one that was sent, what is known of its answer. */
  ended?(poll: Poll): void;
};

export type Reservation = {
  /** The first for which it is needed. */
  readonly budget: string;
  /** False where nobody can say so. */
  readonly written: Promise<boolean>;
  /** In the turn in which the request takes its place. */
  release(): void;
  /** Asked after that: false where what was written is not what the request needs now. */
  holds(): boolean;
};

/** Constraints see this of the ledger. */
export type LedgerView = {
  inFlight(budget: string): number;
  /** The part of it by which it is polled; undefined where nobody else watches, empty until it is polled by another one. */
  partOf(budget: string): string | undefined;
  /** Its wait may have become shorter than announced. */
  changed(budget: string): void;
};

export type LeaseDecision =
  | { readonly kind: "granted"; readonly lease: Lease }
  /** Ask again at `untilMs` (monotonic), or when the ledger reports a change. */
  | Wait;

/** `budget`: the one that is waited for. */
export type Wait = {
  readonly kind: "wait";
  readonly untilMs: number;
  readonly cause: SkipCause;
  readonly budget: string;
};

/** It is held in memory until it is settled. */
export interface Lease {
  /**
   * Asked in the turn of the request's first byte: another process may lead by now. Then nothing must be written, and the
   * lease is settled as unsent.
   */
  isUsable(): boolean;
  /** Settling twice would free someone else's lease: the second time does nothing. */
  settle(settlement: Settlement): void;
  /** Once its answer is read. */
  ended(poll: Poll): void;
}

/** The end of a leased request decides how long the lease is held. */
export type Settlement =
  /** No byte of it was written. */
  | "unsent"
  /** The upstream began to answer, so it has counted the request. */
  | "answered"
  /** Written, never answered, and the socket is closed now. */
  | "unanswered";

export function settlementOf(exchange: Exchange): Settlement {
  if (!wasSent(exchange)) return "unsent";
  return exchange.kind === "answered" || exchange.head !== undefined ? "answered" : "unanswered";
}

/** `label`: as metrics name its window, `1s`, `1m`, `1h`. */
export type RateStatus = {
  readonly label: string;
  readonly limit: number;
  readonly cap: number;
  readonly leases: number;
};
