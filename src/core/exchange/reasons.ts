/** Why a poll was not ok. One row a reason, with all that follows from the reason alone: a new one is a row here. */

/**
 * How a poll ended: `failed` is theirs. `throttled` and `rejected` (our key, token or permission) say nothing of whether
 * it works, and `ours` says nothing of it at all. So availability is ok / (ok + failed).
 */
export const OUTCOMES = ["ok", "failed", "throttled", "rejected", "ours"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Who has to act. `open`: we cannot tell. `nobody`: nothing is wrong. */
export const SIDES = ["nobody", "them", "us", "our_key", "limit", "open"] as const;
export type Side = (typeof SIDES)[number];

/** Whose fault it is, and the evidence for it in a sentence, or empty. */
export type Verdict = { readonly side: Side; readonly because: string };

export type ReasonRow = {
  readonly outcome: Exclude<Outcome, "ok">;
  /** As far as the reason alone tells. */
  readonly verdict: Verdict | keyof typeof VERDICTS;
  /** In two or three words. */
  readonly words: string;
  /** Fits after "the last poll" and after "7 of the last 8 polls". */
  readonly phrase: string | ((status?: number | string) => string);
};

const VERDICTS = {
  broken: { side: "them", because: "We reach the upstream, but its answers are broken." },
  /** Our own network can cause it too: what other upstreams answer tells which. */
  on_the_way: {
    side: "open",
    because:
      "The upstream or the network is down: no other upstream has answered since, so we cannot tell which.",
  },
  not_as_expected: {
    side: "open",
    because: "The upstream answers, but not as expected: its API has changed, or our config is wrong.",
  },
} as const;

/** Their order is that of the docs. */
const ROWS = {
  dns: {
    outcome: "failed",
    verdict: "on_the_way",
    words: "DNS lookup failed",
    phrase: "could not resolve the host name",
  },
  connect: {
    outcome: "failed",
    verdict: "on_the_way",
    words: "could not connect",
    phrase: "could not connect",
  },
  tls: {
    outcome: "failed",
    verdict: {
      side: "open",
      because: "Either its certificate or our TLS config is wrong: see the detail.",
    },
    words: "TLS failed",
    phrase: "failed in the TLS handshake",
  },
  timeout: { outcome: "failed", verdict: "on_the_way", words: "timed out", phrase: "timed out" },
  reset: {
    outcome: "failed",
    verdict: "broken",
    words: "connection lost",
    phrase: "lost the connection before the answer was complete",
  },
  protocol: {
    outcome: "failed",
    verdict: "broken",
    words: "not valid HTTP",
    phrase: "got an answer that is not valid HTTP",
  },
  body_too_large: {
    outcome: "failed",
    verdict: "broken",
    words: "answer too large",
    phrase: "got an answer larger than allowed",
  },
  redirect: {
    outcome: "failed",
    verdict: "not_as_expected",
    words: "redirected",
    phrase: (status?: number | string): string =>
      `got a redirect${status === undefined ? "" : ` (${status})`}, which is not followed`,
  },
  blocked: {
    outcome: "failed",
    verdict: {
      side: "open",
      because:
        "A firewall or bot protection blocks us: nothing tells whether the API behind it works, and others may be served.",
    },
    words: "blocked by a wall",
    phrase: (status: number | string = "an answer"): string =>
      `got ${status}: a firewall or bot protection blocked us`,
  },
  client_error: {
    outcome: "failed",
    verdict: "not_as_expected",
    words: "request refused",
    phrase: (status: number | string = "a 4xx"): string => `got ${status}: the request was refused`,
  },
  server_error: {
    outcome: "failed",
    verdict: "broken",
    words: "server error",
    phrase: (status: number | string = "a 5xx"): string => `got ${status}: server error`,
  },
  unexpected_status: {
    outcome: "failed",
    verdict: "not_as_expected",
    words: "unexpected status",
    phrase: (status: number | string = "a status"): string => `got ${status}, which is not expected`,
  },
  invalid_body: {
    outcome: "failed",
    verdict: "broken",
    words: "not valid JSON",
    phrase: "got an answer that is not valid JSON",
  },
  stream: {
    outcome: "failed",
    verdict: "broken",
    words: "stream failed",
    phrase: "got a stream that failed before it was complete",
  },
  assertion: {
    outcome: "failed",
    verdict: "not_as_expected",
    words: "answer not as asserted",
    phrase: "got an answer that does not say what it should",
  },
  rate: {
    outcome: "throttled",
    verdict: {
      side: "limit",
      because: "The upstream answers, but asks us to slow down. This is not an outage.",
    },
    words: "too many requests",
    phrase: (status: number | string = 429): string => `got ${status}: too many requests`,
  },
  quota: {
    outcome: "throttled",
    verdict: {
      side: "limit",
      because:
        "The quota or credit of our key is used up. Production is rejected too if it shares the account.",
    },
    words: "quota or credit used up",
    phrase: (status: number | string = 402): string => `got ${status}: quota or credit used up`,
  },
  unauthorized: {
    outcome: "rejected",
    verdict: {
      side: "our_key",
      because:
        "The upstream answers, but rejects our key. Anything else that uses this key is probably rejected too.",
    },
    words: "key not accepted",
    phrase: (status: number | string = 401): string => `got ${status}: the key was rejected`,
  },
  forbidden: {
    outcome: "rejected",
    verdict: {
      side: "us",
      because:
        "The upstream answers, but does not allow this: the key lacks the right, or our country or address is not served.",
    },
    words: "key does not allow it",
    phrase: (status: number | string = 403): string => `got ${status}: the key does not allow this`,
  },
  auth: {
    outcome: "rejected",
    verdict: {
      side: "our_key",
      because:
        "The token endpoint answers, but rejects our client. Anything else that uses this client is probably rejected too.",
    },
    words: "no access token",
    phrase: "got no access token",
  },
  bug: {
    outcome: "ours",
    verdict: { side: "us", because: "This says nothing about the upstream." },
    words: "bug in Pacewatch",
    phrase: "failed because of a bug in Pacewatch",
  },
  offline: {
    outcome: "ours",
    verdict: {
      side: "us",
      because: "Our own network was down then, so this says nothing about the upstream.",
    },
    words: "we were offline",
    phrase: "failed while we were offline",
  },
  suspended: {
    outcome: "ours",
    verdict: {
      side: "us",
      because: "Pacewatch stood still meanwhile, so this says nothing about the upstream.",
    },
    words: "we were suspended",
    phrase: "was under way while Pacewatch was suspended",
  },
  memory: {
    outcome: "ours",
    verdict: {
      side: "us",
      because: "Pacewatch had no memory for its answer, so this says nothing about the upstream.",
    },
    words: "no memory for the answer",
    phrase: "failed as Pacewatch had no memory for the answer",
  },
} as const;

export type Reason = keyof typeof ROWS;

export const REASONS: Readonly<Record<Reason, ReasonRow>> = ROWS;

export const REASON_NAMES: readonly Reason[] = Object.keys(ROWS).filter(isReason);

export function verdictOf({ verdict }: ReasonRow): Verdict {
  return typeof verdict === "string" ? VERDICTS[verdict] : verdict;
}

/** Undefined for none, and for one that came with a state file that somebody has edited. */
export function rowOf(reason: string): ReasonRow | undefined {
  return isReason(reason) ? REASONS[reason] : undefined;
}

function isReason(reason: string): reason is Reason {
  return Object.hasOwn(ROWS, reason);
}

/** In two or three words. An unknown reason is shown as it is. */
export function reasonWords(reason: string): string {
  return rowOf(reason)?.words ?? reason;
}
