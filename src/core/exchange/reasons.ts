/** Why a poll was not ok, one row a reason: all that follows from the reason alone. */

/** Their order is that of the docs. */
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

/** In place of the reason of an incident: our own network, and no failure of theirs. */
export const WE_WERE_OFFLINE = "offline";

type Reason = FailureReason | ThrottleKind | typeof WE_WERE_OFFLINE;

/** Who has to act. `open`: we cannot tell. `nobody`: nothing is wrong. */
export type Side = "nobody" | "them" | "us" | "our_key" | "limit" | "open";

/**
 * What a reason says of the upstream. Only `failed` counts against its availability: throttling, what they reject (our
 * key, token or right) and what is ours say nothing about it.
 */
export type Group = "failed" | "throttled" | "rejected" | "ours";

export type ReasonRow = {
  readonly group: Group;
  /** Whose fault it is, as far as the reason alone tells, and the evidence for it in a sentence. */
  readonly side: Side;
  readonly because: string;
  /** Our own network can cause it too: what other upstreams answer tells which. */
  readonly isOnTheWay?: true;
  /** In two or three words. */
  readonly words: string;
  /** Fits after "the last poll" and after "7 of the last 8 polls". */
  readonly phrase: string | ((status?: number | string) => string);
};

const BROKEN = {
  group: "failed",
  side: "them",
  because: "We reach the upstream, but its answers are broken.",
} as const;
const ON_THE_WAY = {
  group: "failed",
  side: "open",
  because:
    "The upstream or the network is down: no other upstream has answered since, so we cannot tell which.",
  isOnTheWay: true,
} as const;
const NOT_AS_EXPECTED = {
  group: "failed",
  side: "open",
  because: "The upstream answers, but not as expected: its API has changed, or our config is wrong.",
} as const;

export const REASONS: Readonly<Record<Reason, ReasonRow>> = {
  dns: { ...ON_THE_WAY, words: "DNS lookup failed", phrase: "could not resolve the host name" },
  connect: { ...ON_THE_WAY, words: "could not connect", phrase: "could not connect" },
  timeout: { ...ON_THE_WAY, words: "timed out", phrase: "timed out" },
  reset: {
    ...BROKEN,
    words: "connection lost",
    phrase: "lost the connection before the answer was complete",
  },
  protocol: { ...BROKEN, words: "not valid HTTP", phrase: "got an answer that is not valid HTTP" },
  body_too_large: { ...BROKEN, words: "answer too large", phrase: "got an answer larger than allowed" },
  server_error: {
    ...BROKEN,
    words: "server error",
    phrase: (status = "a 5xx") => `got ${status}: server error`,
  },
  invalid_body: { ...BROKEN, words: "not valid JSON", phrase: "got an answer that is not valid JSON" },
  redirect: {
    ...NOT_AS_EXPECTED,
    words: "redirected",
    phrase: (status) => `got a redirect${status === undefined ? "" : ` (${status})`}, which is not followed`,
  },
  client_error: {
    ...NOT_AS_EXPECTED,
    words: "request refused",
    phrase: (status = "a 4xx") => `got ${status}: the request was refused`,
  },
  unexpected_status: {
    ...NOT_AS_EXPECTED,
    words: "unexpected status",
    phrase: (status = "a status") => `got ${status}, which is not expected`,
  },
  assertion: {
    ...NOT_AS_EXPECTED,
    words: "answer not as asserted",
    phrase: "got an answer that does not say what it should",
  },
  tls: {
    group: "failed",
    side: "open",
    because: "Either its certificate or our TLS config is wrong: see the detail.",
    words: "TLS failed",
    phrase: "failed in the TLS handshake",
  },
  blocked: {
    group: "failed",
    side: "open",
    because:
      "A firewall or bot protection blocks us: nothing tells whether the API behind it works, and others may be served.",
    words: "blocked by a wall",
    phrase: (status = "an answer") => `got ${status}: a firewall or bot protection blocked us`,
  },
  unauthorized: {
    group: "rejected",
    side: "our_key",
    because:
      "The upstream answers, but rejects our key. Anything else that uses this key is probably rejected too.",
    words: "key not accepted",
    phrase: (status = 401) => `got ${status}: the key was rejected`,
  },
  forbidden: {
    group: "rejected",
    side: "us",
    because:
      "The upstream answers, but does not allow this: the key lacks the right, or our country or address is not served.",
    words: "key does not allow it",
    phrase: (status = 403) => `got ${status}: the key does not allow this`,
  },
  auth: {
    group: "rejected",
    side: "our_key",
    because:
      "The token endpoint answers, but rejects our client. Anything else that uses this client is probably rejected too.",
    words: "no access token",
    phrase: "got no access token",
  },
  rate: {
    group: "throttled",
    side: "limit",
    because: "The upstream answers, but asks us to slow down. This is not an outage.",
    words: "too many requests",
    phrase: (status = 429) => `got ${status}: too many requests`,
  },
  quota: {
    group: "throttled",
    side: "limit",
    because:
      "The quota or credit of our key is used up. Production is rejected too if it shares the account.",
    words: "quota or credit used up",
    phrase: (status = 402) => `got ${status}: quota or credit used up`,
  },
  internal: {
    group: "ours",
    side: "us",
    because: "This says nothing about the upstream.",
    words: "bug in Pacewatch",
    phrase: "failed because of a bug in Pacewatch",
  },
  [WE_WERE_OFFLINE]: {
    group: "ours",
    side: "us",
    because: "Our own network was down then, so this says nothing about the upstream.",
    words: "we were offline",
    phrase: "failed while we were offline",
  },
};

/** Undefined for none, and for one that came with a state file that somebody has edited. */
export function rowOf(reason: string): ReasonRow | undefined {
  return isReason(reason) ? REASONS[reason] : undefined;
}

function isReason(reason: string): reason is Reason {
  return Object.hasOwn(REASONS, reason);
}

/** In two or three words. An unknown reason is shown as it is. */
export function reasonWords(reason: string): string {
  return rowOf(reason)?.words ?? reason;
}
