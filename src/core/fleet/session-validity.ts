import type { Caller } from "./board.ts";
import { CLOCK_RATE_MARGIN } from "../time/clock.ts";
import { type Moment, mostSince } from "../time/moment.ts";
import { sessionOf } from "./member.ts";

/** A replica trusts its session for this part of the TTL. The rest is for ending polls in flight. */
const TRUSTED_PART = 0.8;
/** A replica that joined this long ago would know if the board's clock was stepped before. */
const SETTLED_IN = 0.4;

/** One replica's session, by its own clocks: until when it may poll, and what the board's clock showed last. */
export class SessionValidity {
  readonly #name: string;
  readonly #boot: string;
  readonly #ttlMs: number;
  #count = 1;
  #joinedAtMs: number | undefined;
  #renewed: Moment | undefined;
  #server: { readonly atMs: number; readonly sentAtMs: number } | undefined;

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
    return this.#joinedAtMs !== undefined;
  }

  /** If the machine is not suspended meanwhile. */
  get validUntilMs(): number {
    return this.#renewed === undefined ? Number.NEGATIVE_INFINITY : this.#renewed.nowMs + this.#trustedMs;
  }

  isValidAt(now: Moment): boolean {
    return this.#renewed !== undefined && mostSince(this.#renewed, now) < this.#trustedMs;
  }

  get #trustedMs(): number {
    return this.#ttlMs * TRUSTED_PART;
  }

  inheritsAt(nowMs: number): boolean {
    return this.#joinedAtMs !== undefined && nowMs >= this.#joinedAtMs + this.#ttlMs * SETTLED_IN;
  }

  callerAt(nowMs: number, isStepSure: boolean): Caller {
    const server = this.#server;
    return {
      session: this.session,
      ttlMs: this.#ttlMs,
      // The board read its clock after that call was sent, so it has advanced by no more than the time since.
      expectedMs:
        server === undefined ? undefined : server.atMs + (nowMs - server.sentAtMs) * CLOCK_RATE_MARGIN,
      isStepSure,
    };
  }

  noteClock(serverMs: number, sentAtMs: number): void {
    this.#server = { atMs: serverMs, sentAtMs };
  }

  joined(nowMs: number): void {
    this.#joinedAtMs ??= nowMs;
  }

  /** The board counts the TTL from when it answered, which is later than when the call was sent. */
  renew(sentAt: Moment): void {
    if (this.#renewed === undefined || sentAt.nowMs > this.#renewed.nowMs) this.#renewed = sentAt;
  }

  /** Starts another session, which the board does not know yet. The old one stays valid as long as it was. */
  begin(): void {
    this.#count += 1;
    this.#joinedAtMs = undefined;
  }
}
