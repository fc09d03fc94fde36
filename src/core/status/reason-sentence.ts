import type { SkipCause } from "../exchange/outcome.ts";
import { pollPhrase } from "./poll-phrase.ts";
import { countOf, isTrouble, recentTrouble, recentWindow } from "./recent-trouble.ts";
import { spokenDuration, spokenLatency } from "./spoken.ts";
import type { BudgetStatus, PollStatus, SkipCount, UpstreamStatus } from "./status.ts";

const SKIPPED: Readonly<Record<SkipCause, string>> = {
  budget: "no lease came in time, our share of the budget was used up",
  backoff: "they asked for silence",
  yield: "little is left of their limit, and production comes first",
  quota: "our own quota is spent",
  overlap: "the poll before still ran",
  missed: "Pacewatch was late or asleep",
  ledger: "the shared ledger could not be reached",
  shutdown: "Pacewatch was shutting down",
};

/** Why the health is what it is, for somebody who was just woken by it. One or two sentences. */
export function reasonSentence(
  upstream: UpstreamStatus,
  budget: BudgetStatus | undefined,
  nowMs: number,
): string {
  const { state } = upstream.health;
  const pause = pauseSentence(upstream, budget, nowMs);
  switch (state) {
    case "unknown":
      return join(unknownSentence(upstream), pause);
    case "up":
      return join(upSentence(upstream.lastPolls, nowMs), pause);
    case "degraded":
      return join(slowSentence(upstream), pause);
    case "throttled":
    case "unauthorized":
    case "down":
      return join(troubleSentence(upstream), pause);
    default:
      return state satisfies never;
  }
}

function troubleSentence({ lastPolls }: UpstreamStatus): string {
  return `${recentTrouble(lastPolls) ?? "The polls that told so are no longer kept"}.`;
}

function upSentence(polls: readonly PollStatus[], nowMs: number): string {
  const newest = polls.at(-1);
  if (newest === undefined) return "It was seen up; the polls that told so are no longer kept.";
  const lastTrouble = polls.findLast(isTrouble);
  if (lastTrouble === newest) return `${recentTrouble(polls)}. Not confirmed yet: the next look will tell.`;
  const newer = polls.length - 1 - polls.findLastIndex(isTrouble);
  const oks = newer === 1 ? "The last poll was ok" : `The last ${newer} polls were ok`;
  if (lastTrouble === undefined) return `${oks}.`;
  const ago = spokenDuration(nowMs - lastTrouble.atMs);
  return `${oks}; the one before, ${ago} ago, ${pollPhrase(lastTrouble)}.`;
}

function slowSentence({ lastPolls, degradedAboveMs }: UpstreamStatus): string {
  const window = recentWindow(lastPolls, (poll) => poll.degraded);
  const slow = window.filter((poll) => poll.degraded);
  if (slow.length === 0 || degradedAboveMs === undefined) return "The last answer was slow.";
  const slowestMs = Math.max(...slow.map((poll) => poll.durationMs));
  return `${countOf(slow.length, window.length)} took longer than ${spokenLatency(degradedAboveMs)}, up to ${spokenLatency(slowestMs)}.`;
}

function unknownSentence({ counts, skippedSincePoll, lastPolls }: UpstreamStatus): string {
  const skipped = skippedSincePoll.reduce((sum, { count }) => sum + count, 0);
  const hasPolled = counts.polls > 0;
  if (skipped > 0) {
    const since = hasPolled ? "since the last poll" : "since the start";
    return `${skipped === 1 ? "1 slot has" : `${skipped} slots have`} passed ${since} without one: ${causesOf(skippedSincePoll)}.`;
  }
  if (hasPolled) return `${recentTrouble(lastPolls) ?? "Nobody has looked for a while"}.`;
  if (counts.inFlight > 0) return "The first poll is on its way.";
  if (counts.waiting > 0) return "The first poll waits for its turn within the budget.";
  return "It was not looked at yet since the start.";
}

/** The most frequent first. */
function causesOf(skips: readonly SkipCount[]): string {
  const [first, ...others] = skips.toSorted((a, b) => b.count - a.count);
  if (first === undefined) return "";
  if (others.length === 0) return SKIPPED[first.cause];
  return [first, ...others].map(({ cause, count }) => `${count} as ${SKIPPED[cause]}`).join("; ");
}

function pauseSentence(
  { pausedUntilMs }: UpstreamStatus,
  budget: BudgetStatus | undefined,
  nowMs: number,
): string | undefined {
  const untilMs = Math.max(pausedUntilMs, budget?.pausedUntilMs ?? 0);
  return untilMs > nowMs ? `Polls pause for ${spokenDuration(untilMs - nowMs)} more.` : undefined;
}

function join(...sentences: readonly (string | undefined)[]): string {
  return sentences.filter((sentence) => sentence !== undefined).join(" ");
}
