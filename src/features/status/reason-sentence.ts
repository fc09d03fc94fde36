import { SKIPS } from "../../kernel/exchange/outcome.ts";
import { countOf, isTrouble, pollPhrase, recentTrouble, recentWindow } from "./recent-trouble.ts";
import { counted } from "../../kernel/exchange/json-value.ts";
import { humanDuration, humanLatency, inThousands } from "../../platform/humanize.ts";
import { POLLS_KEPT, type PollStatus, type SkipCount } from "../history/kept-poll.ts";
import type { BudgetStatus, UpstreamFacts } from "./status.ts";
import type { Incident } from "../history/incidents.ts";

/** Why too little is left of a budget for one more poll. */
type UsedUp = (budget: string) => string | undefined;

/** Why the health is what it is, in one or two sentences for somebody who was just woken up. */
export function reasonSentence(
  upstream: UpstreamFacts,
  budgets: readonly BudgetStatus[],
  nowMs: number,
  incident?: Incident,
  usedUp: UsedUp = () => undefined,
): string {
  const pausedUntilMs = Math.max(upstream.pausedUntilMs, ...budgets.map((budget) => budget.pausedUntilMs));
  const sentence = healthSentence(upstream, budgets, nowMs, incident, usedUp);
  if (pausedUntilMs <= nowMs) return sentence;
  const { state } = upstream.health;
  // It is only known how it was.
  const isBlind = state === "up" || state === "degraded" ? "We are kept from looking: polls" : "Polls";
  return `${sentence} ${isBlind} are paused for another ${humanDuration(pausedUntilMs - nowMs)}.`;
}

function healthSentence(
  upstream: UpstreamFacts,
  budgets: readonly BudgetStatus[],
  nowMs: number,
  incident: Incident | undefined,
  usedUp: UsedUp,
): string {
  const { lastPolls, health } = upstream;
  switch (health.state) {
    case "unknown":
      return unknownSentence(upstream, budgets, usedUp);
    case "up":
      return upSentence(upstream, nowMs);
    case "degraded":
      return slowSentence(upstream, nowMs);
    case "throttled":
    case "unauthorized":
    case "down":
      return `${longTrouble(lastPolls, incident, nowMs)}${recentTrouble(lastPolls) ?? "The polls that showed this are no longer kept"}.`;
    default:
      return health.state satisfies never;
  }
}

/** An incident has more polls than are kept: how many, and since when, only itself knows. */
function longTrouble(
  lastPolls: readonly PollStatus[],
  incident: Incident | undefined,
  nowMs: number,
): string {
  const told = lastPolls.length || 1;
  if (incident === undefined || incident.polls <= told || !lastPolls.every(isTrouble)) return "";
  const forMs = Math.max(0, nowMs - incident.startedAtMs);
  return `None of ${inThousands(incident.polls)} polls in ${humanDuration(forMs)} was ok. `;
}

function upSentence({ lastPolls: polls, lastFailures, counts }: UpstreamFacts, nowMs: number): string {
  const newest = polls.at(-1);
  if (newest === undefined) return "It was up when last polled; those polls are no longer kept.";
  const lastTrouble = polls.findLast(isTrouble);
  if (lastTrouble === newest) return `${recentTrouble(polls)}. Not confirmed yet: waiting for another poll.`;
  if (lastTrouble === undefined && polls.length >= POLLS_KEPT) {
    const before = lastFailures.at(-1);
    if (before !== undefined)
      return `Every poll of the last ${humanDuration(nowMs - before.atMs)} was ok; the one before them ${pollPhrase(before)}.`;
    // Those that are kept may be of an earlier process.
    if (counts.polls >= POLLS_KEPT)
      return `Each of the ${inThousands(counts.polls)} polls since the start was ok.`;
  }
  const newer = polls.length - 1 - polls.findLastIndex(isTrouble);
  const oks = newer === 1 ? "The last poll was ok" : `The last ${newer} polls were ok`;
  if (lastTrouble === undefined) return `${oks}.`;
  const ago = humanDuration(nowMs - lastTrouble.atMs);
  return `${oks}; the one before, ${ago} ago, ${pollPhrase(lastTrouble)}.`;
}

function slowSentence({ lastPolls, degradedAboveMs, health }: UpstreamFacts, nowMs: number): string {
  const window = recentWindow(lastPolls, (poll) => poll.degraded);
  const slow = window.filter((poll) => poll.degraded);
  if (slow.length === 0) return "The last answer was slow.";
  const slowestMs = Math.max(...slow.map((poll) => poll.durationMs));
  if (slow.length >= POLLS_KEPT)
    return `Every poll for ${humanDuration(nowMs - health.sinceMs)} took longer than ${humanLatency(degradedAboveMs)}, the last ${POLLS_KEPT} up to ${humanLatency(slowestMs)}.`;
  if (slow.length === 1)
    return `${countOf(1, window.length)} took ${humanLatency(slowestMs)}, longer than ${humanLatency(degradedAboveMs)}.`;
  return `${countOf(slow.length, window.length)} took longer than ${humanLatency(degradedAboveMs)}, up to ${humanLatency(slowestMs)}.`;
}

function unknownSentence(
  { counts, skippedSincePoll, lastPolls }: UpstreamFacts,
  budgets: readonly BudgetStatus[],
  usedUp: UsedUp,
): string {
  const skipped = skippedSincePoll.reduce((sum, { count }) => sum + count, 0);
  const hasPolled = counts.polls > 0;
  if (skipped > 0) {
    return `${counted(skipped, "slot")} ${skipped === 1 ? "was" : "were"} skipped since the ${hasPolled ? "last poll" : "start"}: ${causesOf(skippedSincePoll, budgets, usedUp)}.`;
  }
  if (hasPolled) return `${recentTrouble(lastPolls) ?? "There was no poll for a while"}.`;
  if (counts.inFlight > 0) return "The first poll has no outcome yet.";
  return counts.waiting > 0
    ? "The first poll is waiting for its budget."
    : "No slot was due since the start.";
}

/** The most frequent first. */
function causesOf(skips: readonly SkipCount[], budgets: readonly BudgetStatus[], usedUp: UsedUp): string {
  const sorted = skips.toSorted((a, b) => b.count - a.count);
  const whys = sorted.map(({ cause, budget }) => {
    const empty = cause === "quota" ? budgets.filter(({ name }) => (budget ?? name) === name) : [];
    const more = [
      ...(budget === undefined ? [] : [`budget ${budget}`]),
      ...empty.flatMap((each) => usedUp(each.name) ?? []),
    ];
    return more.length === 0 ? SKIPS[cause].because : `${SKIPS[cause].because} (${more.join(": ")})`;
  });
  if (whys.length === 1) return whys.join("");
  return whys.map((why, place) => `${sorted[place]?.count ?? 0} because ${why}`).join("; ");
}
