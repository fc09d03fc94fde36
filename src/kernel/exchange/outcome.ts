import { type Outcome, type Reason, REASONS, type Side } from "./reasons.ts";

export const SKIP_CAUSES = [
  "budget",
  "backoff",
  "yield",
  "quota",
  "overlap",
  "missed",
  "ledger",
  "shutdown",
] as const;
export type SkipCause = (typeof SKIP_CAUSES)[number];

export type SkipRow = {
  readonly side: Side;
  /** After a number: `3 left to production`. */
  readonly words: string;
  /** After "because". */
  readonly because: string;
};

export const SKIPS: Readonly<Record<SkipCause, SkipRow>> = {
  budget: skip("us", "no lease in time", "our share of the rate limit was used up"),
  backoff: skip("limit", "pause requested by the upstream", "the upstream requested a pause"),
  yield: skip(
    "limit",
    "left to production",
    "little of the upstream's limit is left, and production comes first",
  ),
  quota: skip("limit", "our own quota or spend", "too little of our own quota or spend is left for a poll"),
  overlap: skip("us", "previous poll still running", "the previous poll was still running"),
  missed: skip("us", "late or suspended", "Pacewatch was late or suspended"),
  ledger: skip(
    "us",
    "no right to send, or a disk in trouble",
    "this process was not sure that it leads, or what the poll would use of a quota could not be written down",
  ),
  shutdown: skip("us", "shutting down", "Pacewatch was shutting down"),
};

function skip(side: Side, words: string, because: string): SkipRow {
  return { side, words, because };
}

/** How a request that was sent ended, and why; only ok needs no reason. */
export type PollOutcome =
  | { readonly kind: "ok"; readonly reason: "" }
  | { readonly kind: Exclude<Outcome, "ok">; readonly reason: Reason };

export const OK: PollOutcome = { kind: "ok", reason: "" };

export function outcomeOf(reason: Reason): PollOutcome {
  return { kind: REASONS[reason].outcome, reason };
}

/** What an answer that declines to serve us can mean. */
export const REFUSAL_MEANINGS = [
  "rate",
  "quota",
  "unauthorized",
  "forbidden",
  "blocked",
  "server_error",
  "client_error",
] as const;
export type RefusalMeaning = (typeof REFUSAL_MEANINGS)[number];
