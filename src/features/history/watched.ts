import type { Poll } from "../../kernel/poll/poll.ts";
import { POLLS_KEPT, type PollStatus } from "./kept-poll.ts";

/**
 * How long an upstream was watched: told by each poll when it is counted, and added up everywhere else. Worked out
 * afterwards from the config of the day, it would change with the schedule.
 */
export class WatchedTime {
  /** The slot of the last poll that was ok or failed. Wall clock. */
  #lastSlotMs: number | undefined;

  /** Goes on after the polls of an earlier process, the newest last. */
  constructor(polls: readonly PollStatus[] = []) {
    const last = polls.findLast(({ outcome }) => isWatching(outcome));
    // Where all that are kept were refused, the last that was not came before them.
    this.#lastSlotMs = (last ?? (polls.length < POLLS_KEPT ? undefined : polls[0]))?.atMs;
  }

  /**
   * A poll that was ok or failed covers the time since the one before, at most the usual gap of its schedule: a slot
   * that was skipped, refused or never due was not watched. From slot to slot, as a poll that had to wait for its lease
   * does not watch longer. The first one covers nothing, and a clock that was set back gives nothing twice.
   */
  coveredBy({ outcome, sentAtMs, delayMs, usualGapMs }: Poll): number {
    if (!isWatching(outcome.kind)) return 0;
    const slotMs = sentAtMs - delayMs;
    const lastSlotMs = this.#lastSlotMs ?? slotMs;
    this.#lastSlotMs = slotMs;
    return Math.round(Math.max(0, Math.min(slotMs - lastSlotMs, usualGapMs)));
  }
}

/** Others say nothing about the upstream. */
export function isWatching(outcome: PollStatus["outcome"]): boolean {
  return outcome === "ok" || outcome === "failed";
}
