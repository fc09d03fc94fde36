import { ACTIVITIES, PHASES, type Phase, type PhaseTimesMs } from "../../kernel/exchange/exchange.ts";
import { rowOf } from "../../kernel/exchange/reasons.ts";
import { humanLatency } from "../../platform/humanize.ts";
import type { PollStatus } from "../history/kept-poll.ts";

/** More kinds of trouble than this are summed up as "other reasons". */
const KINDS_SHOWN = 2;

/**
 * How the newest polls that were not ok ended, with counts: `7 of the last 8 polls timed out after 10 s, waiting for
 * the answer`. The newest poll is last in the list. Undefined if none of them was in trouble.
 */
export function recentTrouble(polls: readonly PollStatus[]): string | undefined {
  const window = recentWindow(polls, isTrouble);
  const troubles = window.filter(isTrouble);
  const newest = troubles.at(-1);
  if (newest === undefined) return undefined;
  const kinds = [...Map.groupBy(troubles.toReversed(), kindOf).values()].sort((a, b) => b.length - a.length);
  const counted = countOf(troubles.length, window.length);
  if (kinds.length === 1) return `${counted} ${pollPhrase(newest)}`;
  const word = troubles.every(({ outcome }) => outcome === "failed") ? "failed" : "were not ok";
  return `${counted} ${word}: ${countsByKind(kinds)}`;
}

export function isTrouble(poll: PollStatus): boolean {
  return poll.outcome !== "ok";
}

/** A longer run of matching polls is counted in full. Otherwise this many polls are looked at. */
const WINDOW_POLLS = 8;

/** The newest polls, from the first match on: what came before the trouble is not part of it. */
export function recentWindow(
  polls: readonly PollStatus[],
  matches: (poll: PollStatus) => boolean,
): readonly PollStatus[] {
  const run = polls.slice(polls.findLastIndex((poll) => !matches(poll)) + 1);
  const window = run.length >= WINDOW_POLLS ? run : polls.slice(-WINDOW_POLLS);
  const first = window.findIndex(matches);
  return first === -1 ? [] : window.slice(first);
}

/** `The last 3 polls`, `7 of the last 8 polls`. */
export function countOf(troubles: number, polls: number): string {
  if (polls === 1) return "The last poll";
  return troubles === polls ? `The last ${polls} polls` : `${troubles} of the last ${polls} polls`;
}

/** Each kind has its newest poll first. */
function countsByKind(kinds: readonly (readonly PollStatus[])[]): string {
  const shown = kinds
    .slice(0, KINDS_SHOWN)
    .flatMap((kind) => kind.slice(0, 1).map((newest) => `${kind.length} ${pollPhrase(newest)}`));
  const others = kinds.slice(KINDS_SHOWN).reduce((sum, kind) => sum + kind.length, 0);
  return [...shown, ...(others === 0 ? [] : [`${others} for other reasons`])].join("; ");
}

/** Two timeouts in the same phase are one kind, whatever their milliseconds. */
function kindOf({ reason, status, phasesMs }: PollStatus): string {
  return `${reason} ${status ?? ""} ${reason === "timeout" ? lastPhase(phasesMs) : ""}`;
}

/** How a poll ended: `timed out after 10 s, waiting for the answer`. */
export function pollPhrase(poll: PollStatus): string {
  if (poll.outcome === "ok") return `got an answer after ${humanLatency(poll.durationMs)}`;
  const phrase = rowOf(poll.reason)?.phrase ?? `ended as ${poll.outcome}`;
  const how = typeof phrase === "string" ? phrase : phrase(poll.status);
  const when =
    poll.reason === "timeout" ? ` after ${humanLatency(poll.durationMs)}${activity(poll.phasesMs)}` : "";
  return `${how}${when}`;
}

function activity(phasesMs: PhaseTimesMs): string {
  const phase = lastPhase(phasesMs);
  return phase === undefined ? "" : `, ${ACTIVITIES[phase]}`;
}

/** Phases follow each other, so the poll broke in the last one that began. */
export function lastPhase(phasesMs: PhaseTimesMs): Phase | undefined {
  return PHASES.findLast((phase) => phasesMs[phase] !== undefined);
}
