import type { Clock } from "../time/clock.ts";
import { type Moment, momentOf, mostSince } from "../time/moment.ts";
import { budgetOnBoard } from "./groups.ts";
import { sessionOf } from "./member.ts";

/** A replica trusts its session for this part of the TTL. The rest is for ending polls, and for a step of the board's clock. */
const TRUSTED_PART = 0.8;

export type Life = {
  /** `fleet.name` of its config. */
  readonly name: string;
  /** Differs from process to process. */
  readonly boot: string;
  readonly ttlMs: number;
};

/**
 * One replica's session, and what it has claimed in it, by its own clocks: what it may poll. Whoever claims and releases
 * changes it, and whoever polls asks it.
 */
export class Holdings {
  /** Names on the board, in the mode `shard`. */
  readonly claimed: Set<string> = new Set();
  readonly #life: Life;
  readonly #clock: Clock;
  #sessions = 1;
  /** The latest beat of this session that was answered was sent then. */
  #answered: Moment | undefined;
  /** What is held was confirmed by a beat that was sent then. */
  #renewed: Moment | undefined;
  #namesOf: ReadonlyMap<string, readonly string[]> = new Map();

  constructor(life: Life, clock: Clock) {
    this.#life = life;
    this.#clock = clock;
  }

  get session(): string {
    return sessionOf(this.#life.name, this.#life.boot, this.#sessions);
  }

  get hasJoined(): boolean {
    return this.#answered !== undefined;
  }

  /** Undefined until a beat of this session was answered. */
  answeredAgoMs(now: Moment): number | undefined {
    return this.#answered && Math.max(0, mostSince(this.#answered, now));
  }

  get isSessionValid(): boolean {
    return this.#renewed !== undefined && mostSince(this.#renewed, momentOf(this.#clock)) < this.#trustedMs;
  }

  /** If the machine is not suspended meanwhile. */
  get validUntilMs(): number {
    return this.#renewed === undefined ? Number.NEGATIVE_INFINITY : this.#renewed.nowMs + this.#trustedMs;
  }

  answered(sentAt: Moment): void {
    this.#answered = laterOf(sentAt, this.#answered);
  }

  /** The board counts the TTL from when the beat arrived, which is later than when it was sent. */
  renew(sentAt: Moment): void {
    this.#renewed = laterOf(sentAt, this.#renewed);
  }

  /** Starts another session, which the board does not know yet. The old one stays valid as long as it was. */
  begin(): void {
    this.#sessions += 1;
    this.#answered = undefined;
  }

  /** By upstream, all that it needs, by names on the board: itself, and the budgets that it draws on. */
  know(namesOf: ReadonlyMap<string, readonly string[]>): void {
    this.#namesOf = namesOf;
  }

  /**
   * An upstream is polled by who holds it and all of its budgets. Also asked just before a request is written: a
   * process that was stopped must not send when it continues.
   */
  has(upstream: string): boolean {
    return this.isClaimed(upstream) && this.isSessionValid;
  }

  isClaimed(upstream: string): boolean {
    return this.#namesOf.get(upstream)?.every((name) => this.claimed.has(name)) ?? false;
  }

  mayDrawOn(budgets: readonly string[]): boolean {
    return budgets.every((budget) => this.claimed.has(budgetOnBoard(budget))) && this.isSessionValid;
  }

  get #trustedMs(): number {
    return this.#life.ttlMs * TRUSTED_PART;
  }
}

function laterOf(one: Moment, other: Moment | undefined): Moment {
  return other === undefined || one.nowMs > other.nowMs ? one : other;
}
