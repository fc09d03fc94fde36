import { Leases, type LeaseRate, paceGapMs } from "../../src/kernel/budget/leases.ts";
import { takeLease } from "./take-lease.ts";

/** One upstream of a paced queue; every slot's poll fails, and so do all confirmations but the last. */
export type QueuedUpstream = {
  readonly periodMs: number;
  readonly confirm: number;
  readonly phaseMs: number;
};

type Turn = { readonly joinsAtMs: number; readonly dueMs: number; readonly left: number };

/** An answer takes no time, but more than none. */
const INSTANT_MS = 1.5;

/**
 * The leases and the order of the real queue, without timers or a network: when a slot or a confirmation was first not
 * sent before the next slot of its upstream. Undefined if it never happened.
 */
export function firstStarvedMs(
  upstreams: readonly QueuedUpstream[],
  rates: readonly LeaseRate[],
  untilMs: number,
): number | undefined {
  const terms = { rates, lingerMs: 0 };
  const leases = new Leases(terms, -1, 0);
  const caps = rates.map(({ cap }) => cap);
  const gapMs = paceGapMs(rates);
  const nextSlots = upstreams.map(({ phaseMs }) => phaseMs);
  const turns: (Turn | undefined)[] = upstreams.map(() => undefined);
  let nowMs = 0;
  let serverAtMs = 0;
  while (nowMs < untilMs) {
    const joined = turns.filter((turn) => turn !== undefined);
    const soonestJoinMs = Math.min(...joined.map(({ joinsAtMs }) => joinsAtMs));
    const servedAtMs = Math.max(serverAtMs, soonestJoinMs);
    const slotAtMs = Math.min(...nextSlots);
    if (slotAtMs < servedAtMs) {
      nowMs = slotAtMs;
      const index = nextSlots.indexOf(slotAtMs);
      const upstream = upstreams[index];
      if (upstream === undefined) throw new Error("no such upstream");
      if (turns[index] !== undefined) return nowMs;
      turns[index] = { joinsAtMs: nowMs, dueMs: nowMs + upstream.periodMs, left: upstream.confirm };
      nextSlots[index] = nowMs + upstream.periodMs;
      continue;
    }
    nowMs = servedAtMs;
    const decision = takeLease(leases, nowMs, caps);
    if (decision.kind === "wait") {
      serverAtMs = decision.untilMs;
      continue;
    }
    leases.settle("answered", nowMs);
    serverAtMs = nowMs + gapMs;
    const ready = joined.filter(({ joinsAtMs }) => joinsAtMs <= nowMs);
    const turn = ready.reduce((a, b) => (b.dueMs < a.dueMs ? b : a));
    const index = turns.indexOf(turn);
    turns[index] =
      turn.left === 0
        ? undefined
        : { joinsAtMs: nowMs + gapMs + INSTANT_MS, dueMs: turn.dueMs, left: turn.left - 1 };
  }
  return undefined;
}
