export const FAILURE_REASONS = [
  "dns",
  "connect",
  "tls",
  "timeout",
  "reset",
  "protocol",
  "body_too_large",
  "redirect",
  "unauthorized",
  "forbidden",
  "blocked",
  "client_error",
  "server_error",
  "unexpected_status",
  "invalid_body",
  "assertion",
  "auth",
  "internal",
] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

export const THROTTLE_KINDS = ["rate", "quota"] as const;
export type ThrottleKind = (typeof THROTTLE_KINDS)[number];

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
