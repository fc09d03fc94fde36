/**
 * While an upstream is down, it is looked at again before its next slot: so often as its limits have room for that, beside
 * every slot and every confirmation of all who draw on them.
 */

import { type Budget, SAFE_METHODS, type Upstream } from "../kernel/config/config.ts";
import { looksAgainInMs } from "../kernel/poll/health.ts";
import type { Watched } from "./crowding.ts";
import { fitsRates } from "./numbers.ts";
import { asksOf } from "./pace.ts";
import { type ProofPart, sendersOf } from "./part.ts";
import { sendersByBudget } from "../kernel/budget/needs.ts";

/** A poll is wanted only at the times of a calendar, and never asked for where it may do or cost something. */
export function mayBePolledBetweenSlots(upstream: Upstream, parts: readonly ProofPart[]): boolean {
  const { schedule, method = "GET" } = upstream;
  if (schedule.kind !== "every" || !SAFE_METHODS.has(method)) return false;
  return parts.every(({ mayBePolledMore }) => mayBePolledMore?.(upstream) !== false);
}

/** By upstream, how often between two slots; those that never are left out. */
export function looksAgain(
  { budgets, upstreams }: Watched,
  parts: readonly ProofPart[],
): ReadonlyMap<string, number> {
  const byBudget = sendersByBudget(sendersOf(upstreams, parts));
  const wanted = new Map(
    upstreams.flatMap((upstream) =>
      mayBePolledBetweenSlots(upstream, parts)
        ? [[upstream.name, looksWithin(upstream.schedule.longestGapMs - upstream.timeoutMs)]]
        : [],
    ),
  );
  const room = new Map(
    budgets.map((budget) => {
      // Nobody knows what will be needed of a quota of days.
      const isCounted = parts.some(({ quota }) => quota?.of(budget) !== undefined);
      return [budget.name, isCounted ? 0 : roomOf(budget, byBudget.get(budget.name) ?? [], wanted)];
    }),
  );
  return new Map(
    upstreams.flatMap(({ name, budgets: own }) => {
      const looks = Math.min(wanted.get(name) ?? 0, ...own.map((budget) => room.get(budget) ?? 0));
      return looks > 0 ? [[name, looks]] : [];
    }),
  );
}

/** All that have ended before the next slot, whatever they meet. */
function looksWithin(gapMs: number): number {
  let looks = 0;
  for (let failedForMs = 0; ; looks += 1) {
    failedForMs += looksAgainInMs(failedForMs);
    if (failedForMs >= gapMs) return looks;
  }
}

/**
 * The same number for all who draw on the budget: each look is reckoned like one more confirmation of each slot. Whoever
 * draws on another budget too may leave a turn unused for each of its own.
 */
function roomOf(budget: Budget, senders: readonly Upstream[], wanted: ReadonlyMap<string, number>): number {
  let [fits, most] = [0, Math.max(0, ...senders.map(({ name }) => wanted.get(name) ?? 0))];
  while (fits < most) {
    const tried = Math.ceil((fits + most) / 2);
    const raised = senders.map((sender) => ({
      ...sender,
      confirm: sender.confirm + Math.min(tried, wanted.get(sender.name) ?? 0),
    }));
    const unused = raised.filter(({ budgets }) => budgets.length > 1);
    if (fitsRates(budget, [...asksOf(raised), ...asksOf(unused)])) fits = tried;
    else most = tried - 1;
  }
  return fits;
}
