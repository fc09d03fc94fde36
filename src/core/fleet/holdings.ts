import type { Clock } from "../time/clock.ts";
import { momentOf } from "../time/moment.ts";
import { budgetOnBoard, upstreamOnBoard } from "./groups.ts";
import type { SessionValidity } from "./session-validity.ts";

/** What this replica has claimed, in the mode `shard`. Whoever claims and releases changes it, and whoever polls asks it. */
export class Holdings {
  /** Names on the board. */
  readonly claimed: Set<string> = new Set();
  readonly session: SessionValidity;
  readonly #clock: Clock;
  #budgetsOf: ReadonlyMap<string, readonly string[]> = new Map();

  constructor(session: SessionValidity, clock: Clock) {
    this.session = session;
    this.#clock = clock;
  }

  get isSessionValid(): boolean {
    return this.session.isValidAt(momentOf(this.#clock));
  }

  /** The budgets that each upstream draws on. */
  know(budgetsOf: ReadonlyMap<string, readonly string[]>): void {
    this.#budgetsOf = budgetsOf;
  }

  /**
   * An upstream is polled by who holds it and all of its budgets. Also asked just before a request is written: a
   * process that was stopped must not send when it continues.
   */
  has(upstream: string): boolean {
    return this.isClaimed(upstream) && this.isSessionValid;
  }

  isClaimed(upstream: string): boolean {
    const budgets = this.#budgetsOf.get(upstream);
    return (
      budgets !== undefined &&
      this.claimed.has(upstreamOnBoard(upstream)) &&
      budgets.every((budget) => this.claimed.has(budgetOnBoard(budget)))
    );
  }

  mayDrawOn(budgets: readonly string[]): boolean {
    return budgets.every((budget) => this.claimed.has(budgetOnBoard(budget))) && this.isSessionValid;
  }
}
