import type { Clock } from "../kernel/time/clock.ts";

/** With more upstreams than this, some request is in flight at any moment. */
const FEW_UPSTREAMS = 50;
const LOOK_EVERY_MS = 1_000;
const LOOKS = 10;

export type Quiet = {
  readonly upstreams: number;
  readonly inFlight: () => number;
  readonly clock: Pick<Clock, "sleep">;
  readonly signal: AbortSignal;
};

/**
 * For what stops the event loop: resolves a second or more later, when no request is in flight, so that no latency is
 * measured too high. At once where there are so many upstreams that no such moment would come.
 */
export async function quietMoment({ upstreams, inFlight, clock, signal }: Quiet): Promise<void> {
  if (upstreams > FEW_UPSTREAMS) return;
  for (let look = 0; look < LOOKS && !signal.aborted; look++) {
    await clock.sleep(LOOK_EVERY_MS, signal);
    if (inFlight() === 0) return;
  }
}
