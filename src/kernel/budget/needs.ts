import type { Upstream } from "../config/config.ts";
import { slotsOf } from "../schedule/schedule.ts";
import { CLOCK_RATE_MARGIN } from "../time/clock.ts";
import type { Needs } from "../../features/hints/signals.ts";

/**
 * Each upstream needs one poll a period, for as long as the lease of a slow one is held. Confirmations are left out.
 */
export function needsOf(upstreams: readonly Upstream[]): Needs {
  return ({ perMs }) => leasesOfSlowPolls(upstreams, perMs, 0);
}

/** How many leases are held in one window where every poll takes its whole timeout. Confirmations are left out. */
export function leasesOfSlowPolls(upstreams: readonly Upstream[], perMs: number, lingerMs: number): number {
  return upstreams.reduce(
    (sum, { schedule, timeoutMs }) =>
      sum + slotsOf(schedule).mostWithin(perMs * CLOCK_RATE_MARGIN + timeoutMs + lingerMs),
    0,
  );
}

/**
 * Lists who sends on each budget, in their order. One pass is enough for thousands of upstreams with as many budgets.
 */
export function sendersByBudget<Sender extends Pick<Upstream, "budgets">>(
  senders: readonly Sender[],
): ReadonlyMap<string, readonly Sender[]> {
  const pairs = senders.flatMap((sender) =>
    [...new Set(sender.budgets)].map((budget) => ({ budget, sender })),
  );
  const byBudget = Map.groupBy(pairs, ({ budget }) => budget);
  return new Map([...byBudget].map(([budget, drawing]) => [budget, drawing.map(({ sender }) => sender)]));
}
