import type { Clock } from "../kernel/time/clock.ts";
import { MINUTE_MS } from "../kernel/time/duration.ts";

/** A smaller difference is no news to buckets of an hour. */
const TOLERANCE_MS = MINUTE_MS;

/**
 * The time by which quotas are counted, and by which the state file forgets: the wall clock of the start plus the
 * monotonic clock, so that a step of the wall clock frees nothing. Where the two go on to disagree, the wall clock is
 * right: the machine was suspended, while the monotonic clock stood still, or the time was not yet known at the start.
 * Then the calendar follows, by the least that they disagreed by meanwhile.
 */
export class SteadyCalendar {
  readonly #clock: Clock;
  /** A wall clock that was set wrong is set right within this, or it was right. */
  readonly #followedAfterMs: number;
  readonly #listeners: ((byMs: number, nowMs: number) => void)[] = [];
  #offsetMs: number;
  #skew: { readonly sinceMs: number; readonly byMs: number } | undefined;

  constructor(clock: Clock, followedAfterMs: number, startMs: number = clock.wallNow()) {
    this.#clock = clock;
    this.#followedAfterMs = followedAfterMs;
    this.#offsetMs = startMs - clock.now();
  }

  /** Listeners move what was counted by the time before. They are called in the order in which they came. */
  onSet(listener: (byMs: number, nowMs: number) => void): void {
    this.#listeners.push(listener);
  }

  now(): number {
    const nowMs = this.#clock.now();
    const byMs = this.#clock.wallNow() - (nowMs + this.#offsetMs);
    const { sinceMs, byMs: before } = this.#skew ?? { sinceMs: nowMs, byMs };
    if (Math.abs(byMs) < TOLERANCE_MS) this.#skew = undefined;
    else if (Math.sign(byMs) !== Math.sign(before)) this.#skew = { sinceMs: nowMs, byMs };
    else this.#skew = { sinceMs, byMs: Math.abs(byMs) < Math.abs(before) ? byMs : before };
    if (this.#skew !== undefined && nowMs - this.#skew.sinceMs >= this.#followedAfterMs)
      this.#follow(this.#skew.byMs, nowMs);
    return nowMs + this.#offsetMs;
  }

  /** At the end there is no more time to see who is right: whatever the wall clock says now is what the next process goes by. */
  settle(): void {
    this.now();
    if (this.#skew !== undefined) this.#follow(this.#skew.byMs, this.#clock.now());
  }

  #follow(byMs: number, nowMs: number): void {
    this.#skew = undefined;
    this.#offsetMs += byMs;
    for (const listener of this.#listeners) listener(byMs, nowMs + this.#offsetMs);
  }
}
