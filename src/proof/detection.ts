/** How soon an outage is known: its first failure, and those that confirm it. And how soon its end is. */

import type { Budget, Upstream } from "../kernel/config/config.ts";
import { type LeaseRate, leaseRatesOf, paceGapMs } from "../kernel/budget/leases.ts";
import { sendersByBudget } from "../kernel/budget/needs.ts";
import type { Watched } from "./crowding.ts";
import { type Ask, asksOf, requestsWithin } from "./pace.ts";
import { type ProofPart, sendersOf } from "./part.ts";
import type { Proof } from "./proof.ts";

export type Detection = {
  readonly upstream: string;
  /** The outage begins just before a slot, and is answered at once. */
  readonly earliestMs: number;
  /** It begins just after a poll, each further poll hangs until its timeout, and all who draw on the budgets go first. */
  readonly latestMs: number;
  /** How often it is looked at again between two slots while it is down. */
  readonly looksAgain: number;
  /** No later is it known that it is over, but for the time of one answer. */
  readonly overWithinMs: number;
};

type Looks = Proof["looksAgain"];

export function detectionsOf(
  { budgets, upstreams }: Watched,
  { looksAgain: looks }: Pick<Proof, "looksAgain">,
  parts: readonly ProofPart[],
): readonly Detection[] {
  const senders = sendersByBudget(sendersOf(upstreams, parts));
  const queues = new Map(
    budgets.map((budget) => [budget.name, queueOf(budget, senders.get(budget.name) ?? [], looks)]),
  );
  return upstreams.map((upstream) => {
    const own = upstream.budgets.flatMap((budget) => queues.get(budget) ?? []);
    const again = { looksAgain: looks.get(upstream.name) ?? 0, overWithinMs: overWithinMs(upstream, own) };
    return { upstream: upstream.name, ...soonestAndLatest(upstream, own), ...again };
  });
}

/** Slots of one moment. */
const AT_ONCE_MS = 1;

/** Those who draw on one budget, each request a pace gap after the one before. */
type Queue = {
  readonly gapMs: number;
  readonly asks: readonly Ask[];
  readonly haveLooks: boolean;
};

function queueOf(budget: Budget, senders: readonly Upstream[], looks: Looks): Queue {
  const rates = leaseRatesOf(budget).map(({ perMs, cap }): LeaseRate => ({ perMs, cap: Math.max(1, cap) }));
  // Whoever draws on another budget too may leave a turn unused for each of its own.
  const unused = senders.filter(({ budgets }) => budgets.length > 1);
  return {
    gapMs: paceGapMs(rates),
    asks: senders.length === 1 ? [] : [...asksOf(senders), ...asksOf(unused)],
    haveLooks: senders.some(({ name }) => looks.has(name)),
  };
}

function soonestAndLatest(
  upstream: Upstream,
  queues: readonly Queue[],
): Pick<Detection, "earliestMs" | "latestMs"> {
  const { confirm, confirmOverMs, timeoutMs, schedule } = upstream;
  const gapMs = Math.max(0, ...queues.map((queue) => queue.gapMs));
  const confirmedAfter = (tookMs: number): number => {
    if (confirm === 0) return tookMs;
    const evenlyMs = Math.max(0, confirmOverMs - tookMs) / confirm;
    return tookMs + confirm * (Math.max(gapMs, evenlyMs) + tookMs);
  };
  const aloneMs = confirmedAfter(timeoutMs);
  return {
    earliestMs: confirmedAfter(0),
    latestMs: schedule.longestGapMs + aloneMs + longestWaitMs(upstream, queues, aloneMs),
  };
}

/** It ends just after a poll was sent. Where that one waited, and hangs until after the next slot, it takes another one. */
function overWithinMs(upstream: Upstream, queues: readonly Queue[]): number {
  const { schedule, timeoutMs } = upstream;
  const waitMs = longestWaitMs({ ...upstream, confirm: 0 }, queues, AT_ONCE_MS);
  const hangsMs = waitMs + timeoutMs > schedule.longestGapMs ? timeoutMs : 0;
  return schedule.longestGapMs + waitMs + hangsMs;
}

/** It waits longer the more others ask meanwhile; never until its next slot, as the proof shows. */
function longestWaitMs(upstream: Upstream, queues: readonly Queue[], aloneMs: number): number {
  const mostMs = upstream.schedule.longestGapMs;
  let waitMs = 0;
  for (;;) {
    const neededMs = queues.reduce((sum, queue) => sum + turnsMs(queue, upstream, aloneMs + waitMs), 0);
    if (neededMs <= waitMs) return waitMs;
    if (neededMs >= mostMs) return mostMs;
    waitMs = neededMs;
  }
}

/** The turns of all others within this time, and where somebody is looked at again, one before each of its own. */
function turnsMs({ asks, gapMs, haveLooks }: Queue, { confirm }: Upstream, withinMs: number): number {
  if (asks.length === 0) return 0;
  const own = 1 + confirm;
  return gapMs * (requestsWithin(asks, withinMs) - own + (haveLooks ? own : 0));
}
