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
  /** After a number: `3 left to production`. */
  readonly words: string;
  /** After "because". */
  readonly because: string;
  readonly side: Side;
};

export const SKIPS: Readonly<Record<SkipCause, SkipRow>> = {
  budget: {
    words: "no lease in time",
    because: "our share of the rate limit was used up",
    side: "us",
  },
  backoff: {
    words: "pause requested by the upstream",
    because: "the upstream requested a pause",
    side: "limit",
  },
  yield: {
    words: "left to production",
    because: "little of the upstream's limit is left, and production comes first",
    side: "limit",
  },
  quota: { words: "quota used up", because: "our own quota is used up", side: "limit" },
  overlap: {
    words: "previous poll still running",
    because: "the previous poll was still running",
    side: "us",
  },
  missed: { words: "late or suspended", because: "Pacewatch was late or suspended", side: "us" },
  ledger: { words: "ledger unreachable", because: "the shared ledger could not be reached", side: "us" },
  shutdown: { words: "shutting down", because: "Pacewatch was shutting down", side: "us" },
};

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
