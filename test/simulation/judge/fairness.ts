import type { Upstream } from "../../../src/kernel/config/config.ts";

/** A step of the clock or a changed slot may cost a turn or two. */
const SPARE_TURNS = 3;

/**
 * Watches over one budget's line: who waits is overtaken by another no more often than that one's slots, and their
 * confirmations, fall into its own period. So the gap of the one is bounded by the gaps of the others.
 */
export class Fairness {
  /** For each that waits, how often every other was served meanwhile. */
  readonly #turnsOfOthers = new Map<Upstream, Map<Upstream, number>>();

  waits(upstream: Upstream): undefined {
    if (!this.#turnsOfOthers.has(upstream)) this.#turnsOfOthers.set(upstream, new Map());
  }

  left(upstream: Upstream): undefined {
    this.#turnsOfOthers.delete(upstream);
  }

  /** Who starves by this turn, in words. */
  served(upstream: Upstream): string | undefined {
    this.#turnsOfOthers.delete(upstream);
    for (const [waiting, turns] of this.#turnsOfOthers) {
      // It may be waiting for one that this one does not need.
      if (!waiting.budgets.every((budget) => upstream.budgets.includes(budget))) continue;
      const count = (turns.get(upstream) ?? 0) + 1;
      turns.set(upstream, count);
      if (count > mostTurns(waiting, upstream)) {
        return `${waiting.name} waits while ${upstream.name} is served ${count} times`;
      }
    }
    return undefined;
  }

  clear(): void {
    this.#turnsOfOthers.clear();
  }
}

function mostTurns(waiting: Upstream, other: Upstream): number {
  const slots = waiting.schedule.longestGapMs / other.schedule.longestGapMs + 1;
  return (1 + other.confirm) * slots + SPARE_TURNS;
}
