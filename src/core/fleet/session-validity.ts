import { type Moment, mostSince } from "../time/moment.ts";
import { sessionOf } from "./member.ts";

/** A replica trusts its session for this part of the TTL. The rest is for ending polls, and for a step of the board's clock. */
const TRUSTED_PART = 0.8;

/** One replica's session, by its own clocks: until when it may poll. */
export class SessionValidity {
  readonly #name: string;
  readonly #boot: string;
  readonly #ttlMs: number;
  #count = 1;
  /** The latest beat of this session that was answered was sent then. */
  #answered: Moment | undefined;
  /** What is held was confirmed by a beat that was sent then. */
  #renewed: Moment | undefined;

  /** `boot` differs from process to process. */
  constructor(name: string, boot: string, ttlMs: number) {
    this.#name = name;
    this.#boot = boot;
    this.#ttlMs = ttlMs;
  }

  get session(): string {
    return sessionOf(this.#name, this.#boot, this.#count);
  }

  get hasJoined(): boolean {
    return this.#answered !== undefined;
  }

  /** Undefined until a beat of this session was answered. */
  answeredAgoMs(now: Moment): number | undefined {
    return this.#answered && Math.max(0, mostSince(this.#answered, now));
  }

  /** If the machine is not suspended meanwhile. */
  get validUntilMs(): number {
    return this.#renewed === undefined
      ? Number.NEGATIVE_INFINITY
      : this.#renewed.nowMs + this.#ttlMs * TRUSTED_PART;
  }

  isValidAt(now: Moment): boolean {
    return this.#renewed !== undefined && mostSince(this.#renewed, now) < this.#ttlMs * TRUSTED_PART;
  }

  answered(sentAt: Moment): void {
    if (this.#answered === undefined || sentAt.nowMs > this.#answered.nowMs) this.#answered = sentAt;
  }

  /** The board counts the TTL from when the beat arrived, which is later than when it was sent. */
  renew(sentAt: Moment): void {
    if (this.#renewed === undefined || sentAt.nowMs > this.#renewed.nowMs) this.#renewed = sentAt;
  }

  /** Starts another session, which the board does not know yet. The old one stays valid as long as it was. */
  begin(): void {
    this.#count += 1;
    this.#answered = undefined;
  }
}
