/**
 * Whether the pace serves every slot before its upstream's next one, when slots come at once and every poll fails.
 *
 *      slots of four upstreams          █ sent, one pace gap after the other
 *       |                                                                         | their next slots
 *       a─█  b───█  c───────█  d───────────█  a'─────────────█ …                  |
 *       |<──────────────── busy ─────────────────────────────────>|
 *
 * One lease is granted in each gap, to the slot whose next one comes first. Leases are held 0.1 % longer than their
 * window, so the gap is taken as that much longer. Answers are taken as instant: `warningsOf` looks at slow ones.
 */

import type { Upstream } from "../kernel/config/config.ts";
import { type LeaseRate, paceGapMs } from "../kernel/budget/leases.ts";
import { slotsOf } from "../kernel/schedule/schedule.ts";
import { CLOCK_RATE_MARGIN } from "../kernel/time/clock.ts";
import { DAY_MS } from "../kernel/time/duration.ts";

/** Upstreams that ask alike: how often, and how many requests for each slot. */
export type Ask = {
  readonly count: number;
  readonly confirm: number;
  /** Between two slots, the shortest. */
  readonly gapMs: number;
  readonly slotsWithin: (windowMs: number) => number;
};

export type Pace = {
  readonly gapMs: number;
  /** The first of many may be delayed by so much, once: leases are held a little longer than their window. */
  readonly lateMs: number;
};

/** A timer wakes so late, and what was due meanwhile catches up. */
const TIMER_MS = 1;
/** A load that is not settled after these rounds fills the pace almost wholly. */
const MOST_ROUNDS = 500;

export function asksOf(
  upstreams: readonly Upstream[],
  leastPeriodMs: number = 0,
  mostConfirm: number = Infinity,
): readonly Ask[] {
  const alike = Map.groupBy(upstreams, ({ schedule, confirm }) => {
    const cadence = slotsOf(schedule).isEven
      ? Math.max(schedule.longestGapMs, leastPeriodMs)
      : schedule.expression;
    return `${Math.min(confirm, mostConfirm)} ${cadence}`;
  });
  return [...alike.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const cron = slotsOf(first.schedule);
    const gapMs = cron.isEven ? Math.max(cron.longestGapMs, leastPeriodMs) : cron.shortestGapMs;
    const slotsWithin = cron.isEven
      ? (windowMs: number): number => Math.ceil(windowMs / gapMs)
      : bySecond((windowMs) => cron.mostWithin(windowMs));
    return [{ count: group.length, confirm: Math.min(first.confirm, mostConfirm), gapMs, slotsWithin }];
  });
}

/** Cron knows seconds only, and its answers take a while. */
function bySecond(slotsWithin: (windowMs: number) => number): Ask["slotsWithin"] {
  const known = new Map<number, number>();
  return (windowMs) => {
    const seconds = Math.ceil(windowMs / 1000);
    const slots = known.get(seconds) ?? slotsWithin(seconds * 1000);
    known.set(seconds, slots);
    return slots;
  };
}

/** `heldMs`: how long a lease is held before its window begins. */
export function paceOf(rates: readonly LeaseRate[], heldMs: number = 0): Pace {
  const gapMs = Math.max(
    paceGapMs(rates),
    ...rates.map(({ perMs, cap }) => (heldMs === 0 ? 0 : (perMs + heldMs) / cap)),
  );
  const held = rates.filter(({ perMs, cap }) => (perMs * CLOCK_RATE_MARGIN) / cap > gapMs);
  return {
    gapMs: gapMs * CLOCK_RATE_MARGIN,
    lateMs: TIMER_MS + Math.max(0, ...held.map(({ perMs }) => perMs * (CLOCK_RATE_MARGIN - 1))),
  };
}

/** Requests within any window, each slot with all of its confirmations. */
export function requestsWithin(asks: readonly Ask[], windowMs: number): number {
  return asks.reduce(
    (sum, { count, confirm, slotsWithin }) => sum + count * (1 + confirm) * slotsWithin(windowMs),
    0,
  );
}

/** The longest time for which slots may be waiting without a break; infinite if the pace is too slow for them. */
export function longestBusyMs(asks: readonly Ask[], pace: Pace): number {
  if (pace.gapMs * requestsWithin(asks, DAY_MS) >= DAY_MS) return Infinity;
  let busyMs = pace.gapMs;
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const neededMs = pace.lateMs + pace.gapMs * requestsWithin(asks, busyMs);
    if (neededMs <= busyMs) return busyMs;
    busyMs = neededMs;
  }
  return Infinity;
}

export function allServedInTime(asks: readonly Ask[], pace: Pace): boolean {
  const shortestMs = Math.min(...asks.map(({ gapMs }) => gapMs));
  const busyMs = longestBusyMs(asks, pace);
  if (busyMs === Infinity) return false;
  if (busyMs <= shortestMs) return true;
  // Stretches are tried from the longest down: what is needed within one bounds what every shorter one needs.
  for (let stretchMs = Math.floor(busyMs); stretchMs >= shortestMs;) {
    const neededMs = neededWithin(asks, pace, stretchMs);
    if (neededMs > stretchMs) return false;
    stretchMs = Math.min(Math.floor(neededMs), stretchMs - 1);
  }
  return true;
}

/**
 * The time from the start of a stretch until the last of those slots is sent that come, and whose next ones come,
 * within it.
 * Someone less urgent may have the turn before the first of them. A confirmation joins just after the turn that it
 * could have had, so someone less urgent may have that one too.
 */
function neededWithin(asks: readonly Ask[], pace: Pace, stretchMs: number): number {
  let [urgent, overtaken, others, fewest] = [0, 0, 0, Infinity];
  for (const { count, confirm, gapMs, slotsWithin } of asks) {
    const slots = stretchMs < gapMs ? 0 : slotsWithin(stretchMs - gapMs + 1);
    urgent += count * (1 + confirm) * slots;
    overtaken += count * confirm * slots;
    others += count * (1 + confirm);
    if (slots > 0) fewest = Math.min(fewest, 1 + confirm);
  }
  const overtaking = Math.min(overtaken, Math.max(0, others - fewest - 1));
  return pace.lateMs + pace.gapMs * (urgent + overtaking);
}
