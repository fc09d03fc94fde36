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
  /** Of several that hold a slot back, the gravest is told. */
  readonly gravity: number;
  /** Somebody wants such slots to be skipped: they do not wait for a lease, and nobody owes them a poll. */
  readonly isAskedFor: boolean;
  /** Nothing may be sent until it is over, not even what is under way. */
  readonly isPause: boolean;
  /** A poll that is missing by this says nothing new about the upstream. */
  readonly keepsHealth: boolean;
};

export const SKIPS: Readonly<Record<SkipCause, SkipRow>> = {
  budget: skip("us", "no lease in time", "our share of the rate limit was used up"),
  backoff: {
    ...skip("limit", "pause requested by the upstream", "the upstream requested a pause"),
    gravity: 4,
    isAskedFor: true,
    isPause: true,
    keepsHealth: true,
  },
  yield: {
    ...skip(
      "limit",
      "left to production",
      "little of the upstream's limit is left, and production comes first",
    ),
    gravity: 2,
    isAskedFor: true,
    keepsHealth: true,
  },
  quota: {
    ...skip("limit", "our own quota or spend", "too little of our own quota or spend is left for a poll"),
    gravity: 3,
    isAskedFor: true,
  },
  overlap: skip("us", "previous poll still running", "the previous poll was still running"),
  missed: skip("us", "late or suspended", "Pacewatch was late or suspended"),
  ledger: {
    ...skip(
      "us",
      "no right to send, or a disk in trouble",
      "this process was not sure that it leads, or what the poll would use of a quota could not be written down",
    ),
    gravity: 1,
  },
  shutdown: { ...skip("us", "shutting down", "Pacewatch was shutting down"), keepsHealth: true },
};

function skip(side: Side, words: string, because: string): SkipRow {
  return { side, words, because, gravity: 0, isAskedFor: false, isPause: false, keepsHealth: false };
}

/** How a request that was sent ended, and why; only ok needs no reason. */
export type PollOutcome =
  | { readonly kind: "ok"; readonly reason: "" }
  | { readonly kind: Exclude<Outcome, "ok">; readonly reason: Reason };

export const OK: PollOutcome = { kind: "ok", reason: "" };

export function outcomeOf(reason: Reason): PollOutcome {
  return { kind: REASONS[reason].outcome, reason };
}
