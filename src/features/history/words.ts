import { reasonWords, type Side } from "../../kernel/exchange/reasons.ts";
import { type Incident, reasonsOf } from "./incidents.ts";
import type { HealthState } from "../../kernel/poll/health.ts";

type StateWords = {
  /** After the name of an upstream: `email is throttling us`. */
  readonly sentence: string;
  readonly title: string;
  /** After a number: `3 throttling us`. */
  readonly counted: string;
};

export const STATE_WORDS: Readonly<Record<HealthState, StateWords>> = {
  unknown: { sentence: "is in an unknown state", title: "Unknown", counted: "unknown" },
  up: { sentence: "is up", title: "Up", counted: "up" },
  degraded: { sentence: "is up, but slow", title: "Up, but slow", counted: "slow" },
  throttled: { sentence: "is throttling us", title: "Throttling us", counted: "throttling us" },
  unauthorized: { sentence: "rejects our key", title: "Rejects our key", counted: "rejecting our key" },
  down: { sentence: "is down", title: "Down", counted: "down" },
};

export const SIDE_WORDS: Readonly<Record<Side, string>> = {
  nobody: "",
  them: "It is them.",
  us: "It is us.",
  our_key: "Our key is the cause.",
  limit: "A limit is the cause.",
  open: "Them or us: unclear.",
};

/** Of what is over. */
export const SIDE_WERE: Readonly<Record<Side, string>> = {
  ...SIDE_WORDS,
  them: "It was them.",
  us: "It was us.",
  our_key: "Our key was the cause.",
  limit: "A limit was the cause.",
};

const REASONS_SHOWN = 2;

/** `timed out`, `5 not valid JSON, 3 timed out`. */
export function whyWords(incident: Pick<Incident, "reason" | "polls" | "reasons">): string {
  const counted = Object.entries(reasonsOf(incident)).toSorted(([, one], [, other]) => other - one);
  if (counted.length <= 1) return reasonWords(counted[0]?.[0] ?? incident.reason);
  const shown = counted.slice(0, REASONS_SHOWN).map(([reason, polls]) => `${polls} ${reasonWords(reason)}`);
  const others = counted.slice(REASONS_SHOWN).reduce((sum, [, polls]) => sum + polls, 0);
  return [...shown, ...(others === 0 ? [] : [`${others} for other reasons`])].join(", ");
}
