import {
  FAILURE_REASONS,
  type FailureReason,
  type Side,
  THROTTLE_KINDS,
  type ThrottleKind,
} from "./reasons.ts";

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

/** How a request that was sent ended. */
export type PollOutcome =
  | { readonly kind: "ok" }
  | { readonly kind: "failed"; readonly reason: FailureReason }
  | { readonly kind: "throttled"; readonly throttle: ThrottleKind };

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

export function outcomeOf(meaning: RefusalMeaning): PollOutcome {
  return meaning === "rate" || meaning === "quota"
    ? { kind: "throttled", throttle: meaning }
    : { kind: "failed", reason: meaning };
}

/** Every pair that `polls_total` can carry; the reason of `ok` is empty. */
export const POLL_OUTCOME_LABELS: readonly {
  readonly outcome: PollOutcome["kind"];
  readonly reason: string;
}[] = [
  { outcome: "ok", reason: "" },
  ...FAILURE_REASONS.map((reason) => ({ outcome: "failed" as const, reason })),
  ...THROTTLE_KINDS.map((reason) => ({ outcome: "throttled" as const, reason })),
];

/** The reason or the kind of an outcome; empty where it needs none. */
export function reasonOf(outcome: PollOutcome): string {
  switch (outcome.kind) {
    case "ok":
      return "";
    case "failed":
      return outcome.reason;
    case "throttled":
      return outcome.throttle;
    default:
      return outcome satisfies never;
  }
}
