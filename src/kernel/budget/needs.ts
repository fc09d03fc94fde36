import type { Budget, Rate, Upstream } from "../config/config.ts";
import { slotsOf } from "../schedule/schedule.ts";
import { CLOCK_RATE_MARGIN } from "../time/clock.ts";

/** Who draws on budgets: upstreams, and what else sends requests for them. */
export type Sender = Pick<Upstream, "name" | "budgets" | "schedule" | "timeoutMs">;

/** All senders of a config; without it, its upstreams. */
export type SendersOf = (upstreams: readonly Upstream[]) => readonly Sender[];

/** A request can still be counted for this long after it was sent: timeout and linger. */
export function uncountedMsOf(senders: readonly Sender[], budgets: readonly Budget[]): number {
  const timeoutMs = Math.max(0, ...senders.map((sender) => sender.timeoutMs));
  return timeoutMs + Math.max(0, ...budgets.map((budget) => budget.lingerMs));
}

/** The schedules need so many requests in a window of a rate. */
export type Needs = (rate: Rate) => number;

/**
 * Each upstream needs one poll a period, for as long as the lease of a slow one is held. Confirmations are left out.
 */
export function needsOf(senders: readonly Sender[]): Needs {
  return ({ perMs }) => leasesOfSlowPolls(senders, perMs, 0);
}

/** How many leases are held in one window where every poll takes its whole timeout. Confirmations are left out. */
export function leasesOfSlowPolls(senders: readonly Sender[], perMs: number, lingerMs: number): number {
  return senders.reduce(
    (sum, { schedule, timeoutMs }) =>
      sum + slotsOf(schedule).mostWithin(perMs * CLOCK_RATE_MARGIN + timeoutMs + lingerMs),
    0,
  );
}

/**
 * Lists who sends on each budget, in their order. One pass is enough for thousands of upstreams with as many budgets.
 */
export function sendersByBudget<Each extends Pick<Sender, "budgets">>(
  senders: readonly Each[],
): ReadonlyMap<string, readonly Each[]> {
  const pairs = senders.flatMap((sender) =>
    [...new Set(sender.budgets)].map((budget) => ({ budget, sender })),
  );
  const byBudget = Map.groupBy(pairs, ({ budget }) => budget);
  return new Map([...byBudget].map(([budget, drawing]) => [budget, drawing.map(({ sender }) => sender)]));
}
