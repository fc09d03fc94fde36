import type { Clock } from "./clock.ts";

/** The same moment on both clocks of the machine. */
export type Moment = { readonly nowMs: number; readonly wallMs: number };

export function momentOf(clock: Clock): Moment {
  return { nowMs: clock.now(), wallMs: clock.wallNow() };
}

/**
 * How long ago it was at most. The monotonic clock stands still while the machine is suspended, and the wall clock may
 * be set: whoever must let go in time believes the one that says longer. Never for what must be waited for.
 */
export function mostSince(since: Moment, now: Moment): number {
  return Math.max(now.nowMs - since.nowMs, now.wallMs - since.wallMs);
}
