import type { Caller } from "./board.ts";
import { sessionOf } from "./member.ts";

/** A holder believes in its session for this part of it: the rest is for ending what is on its way. */
const BELIEVED = 0.8;
/** Clocks of two machines may run at rates that differ by so much. */
const RATE = 1.001;
/** Whoever has been there so long would have heard of a stepped clock from the others. */
const SETTLED_IN = 0.4;

/** One replica's session by its own monotonic clock: until when it may act on it, and how the board's clock stands. */
export class SessionValidity {
  readonly #name: string;
  readonly #boot: string;
  readonly #ttlMs: number;
  #count = 1;
  #joinedAtMs: number | undefined;
  #validUntilMs = Number.NEGATIVE_INFINITY;
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

  get validUntilMs(): number {
    return this.#validUntilMs;
  }

  isValidAt(nowMs: number): boolean {
    return nowMs < this.#validUntilMs;
  }

  inheritsAt(nowMs: number): boolean {
    return this.#joinedAtMs !== undefined && nowMs >= this.#joinedAtMs + this.#ttlMs * SETTLED_IN;
  }

  callerAt(nowMs: number, isStepSure: boolean): Caller {
    const server = this.#server;
    return {
      session: this.session,
      ttlMs: this.#ttlMs,
      // It was read after that call was sent: by now it has gone on by no more than the time since.
      expectedMs: server === undefined ? undefined : server.atMs + (nowMs - server.sentAtMs) * RATE,
      isStepSure,
    };
  }

  /** Of any answer: what the board's clock showed, for a call that was sent then. */
  hear(serverMs: number, sentAtMs: number): void {
    this.#server = { atMs: serverMs, sentAtMs };
  }

  joined(nowMs: number): void {
    this.#joinedAtMs ??= nowMs;
  }

  /** The session stands for its whole time from the board's answer on, and that came later than the question. */
  renew(sentAtMs: number): void {
    this.#validUntilMs = Math.max(this.#validUntilMs, sentAtMs + this.#ttlMs * BELIEVED);
  }

  /** Another session, which the board does not know yet. What was believed of the old one still holds. */
  begin(): void {
    this.#count += 1;
    this.#joinedAtMs = undefined;
  }
}
