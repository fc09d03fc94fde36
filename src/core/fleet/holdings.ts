import type { Clock } from "../time/clock.ts";
import { momentOf } from "../time/moment.ts";
import type { SessionValidity } from "./session-validity.ts";

/** The upstreams that this replica has claimed. Whoever claims and releases changes it, and whoever polls asks it. */
export class Holdings {
  readonly claimed: Set<string> = new Set();
  readonly session: SessionValidity;
  readonly #clock: Clock;

  constructor(session: SessionValidity, clock: Clock) {
    this.session = session;
    this.#clock = clock;
  }

  get isSessionValid(): boolean {
    return this.session.isValidAt(momentOf(this.#clock));
  }

  /** Also asked just before a request is written: a process that was stopped must not send when it continues. */
  has(upstream: string): boolean {
    return this.claimed.has(upstream) && this.isSessionValid;
  }
}
