import { lastPhase, pollPhrase } from "./poll-phrase.ts";
import type { PollStatus } from "./status.ts";

/** A run of troubles longer than this is told whole; else this many polls are looked back at. */
const LOOKED_BACK_AT = 8;
/** More kinds of trouble than this, and the rest is "other". */
const KINDS_TOLD = 2;

/**
 * What the newest polls that were not ok have met, counted: `7 of the last 8 polls timed out after 10 s, waiting
 * for the answer`. The newest poll is last in the list; undefined where none of them was in trouble.
 */
export function recentTrouble(polls: readonly PollStatus[]): string | undefined {
  const window = recentWindow(polls, isTrouble);
  const troubles = window.filter(isTrouble);
  const newest = troubles.at(-1);
  if (newest === undefined) return undefined;
  const kinds = [...Map.groupBy(troubles.toReversed(), kindOf).values()].sort((a, b) => b.length - a.length);
  const counted = countOf(troubles.length, window.length);
  if (kinds.length === 1) return `${counted} ${pollPhrase(newest)}`;
  return `${counted} failed: ${kindsTold(kinds)}`;
}

/** The polls that tell about it: from its first one on, as what came before it began is no part of it. */
export function recentWindow(
  polls: readonly PollStatus[],
  isPart: (poll: PollStatus) => boolean,
): readonly PollStatus[] {
  const run = polls.slice(polls.findLastIndex((poll) => !isPart(poll)) + 1);
  const seen = run.length >= LOOKED_BACK_AT ? run : polls.slice(-LOOKED_BACK_AT);
  const first = seen.findIndex(isPart);
  return first === -1 ? [] : seen.slice(first);
}

export function isTrouble(poll: PollStatus): boolean {
  return poll.outcome !== "ok";
}

/** `The last 3 polls`, `7 of the last 8 polls`. */
export function countOf(troubles: number, polls: number): string {
  if (polls === 1) return "The last poll";
  return troubles === polls ? `The last ${polls} polls` : `${troubles} of the last ${polls} polls`;
}

/** Each kind has its newest poll first. */
function kindsTold(kinds: readonly (readonly PollStatus[])[]): string {
  const told = kinds
    .slice(0, KINDS_TOLD)
    .flatMap(([newest, ...others]) =>
      newest === undefined ? [] : [`${1 + others.length} ${pollPhrase(newest)}`],
    );
  const others = kinds.slice(KINDS_TOLD).reduce((sum, kind) => sum + kind.length, 0);
  return [...told, ...(others === 0 ? [] : [`${others} otherwise`])].join("; ");
}

/** Two timeouts in the same phase are one kind, whatever their milliseconds. */
function kindOf({ outcome, reason, status, phasesMs }: PollStatus): string {
  return `${outcome} ${reason} ${status ?? ""} ${reason === "timeout" ? lastPhase(phasesMs) : ""}`;
}
