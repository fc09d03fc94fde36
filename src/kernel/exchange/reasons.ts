/** Why a poll was not ok. One row a reason, with all that follows from the reason alone: a new one is a name and a row. */

import type { WireFault } from "./exchange.ts";

/**
 * How a poll ended: `failed` is theirs. `throttled` and `rejected` (our key, token or permission) say nothing of whether
 * it works, and `ours` says nothing of it at all. So availability is of the time that ok and failed polls watched.
 */
export const OUTCOMES = ["ok", "failed", "throttled", "rejected", "ours"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Who has to act. `open`: we cannot tell. `nobody`: nothing is wrong. */
export const SIDES = ["nobody", "them", "us", "our_key", "limit", "open"] as const;
export type Side = (typeof SIDES)[number];

/** Whose fault it is, and the evidence for it in a sentence, or empty. */
export type Verdict = { readonly side: Side; readonly because: string };

/** Faults on the wire, and judgements of an answer or of the machine. */
export type Reason =
  | WireFault
  | "redirect"
  | "blocked"
  | "client_error"
  | "server_error"
  | "unexpected_status"
  | "invalid_body"
  | "stream"
  | "assertion"
  | "rate"
  | "quota"
  | "unauthorized"
  | "forbidden"
  | "auth"
  | "offline"
  | "suspended";

export type ReasonRow = {
  readonly outcome: Exclude<Outcome, "ok">;
  /** As far as the reason alone tells. */
  readonly verdict: Verdict;
  /** In two or three words. */
  readonly words: string;
  /** Fits after "the last poll" and after "7 of the last 8 polls". */
  readonly phrase: string | ((status?: number | string) => string);
};

const them = verdictsOn("them");
const us = verdictsOn("us");
const ourKey = verdictsOn("our_key");
const limit = verdictsOn("limit");
const open = verdictsOn("open");

export const BROKEN: Verdict = them("We reach the upstream, but its answers are broken.");
/** Our own network can cause it too: what other upstreams answer tells which. */
export const ON_THE_WAY: Verdict = open(
  "The upstream or the network is down: no other upstream has answered since, so we cannot tell which.",
);
const NOT_AS_EXPECTED = open(
  "The upstream answers, but not as expected: its API has changed, or our config is wrong.",
);

/** An error that is told by the body of a good status is not that status. */
function got(status: number | string, what: string): string {
  return typeof status === "number" && status < 400
    ? `got ${status} with an error in its body: ${what}`
    : `got ${status}: ${what}`;
}

const failed = rowsOf("failed");
const throttled = rowsOf("throttled");
const rejected = rowsOf("rejected");
const ours = rowsOf("ours");

/** Their order is that of the docs. */
export const REASONS: Readonly<Record<Reason, ReasonRow>> = {
  dns: failed(ON_THE_WAY, "DNS lookup failed", "could not resolve the host name"),
  connect: failed(ON_THE_WAY, "could not connect", "could not connect"),
  tls: failed(
    open("Either its certificate or our TLS config is wrong: see the detail."),
    "TLS failed",
    "failed in the TLS handshake",
  ),
  timeout: failed(ON_THE_WAY, "timed out", "timed out"),
  reset: failed(BROKEN, "connection lost", "lost the connection before the answer was complete"),
  protocol: failed(BROKEN, "not valid HTTP", "got an answer that is not valid HTTP"),
  body_too_large: failed(BROKEN, "answer too large", "got an answer larger than allowed"),
  redirect: failed(
    NOT_AS_EXPECTED,
    "redirected",
    (status) => `got a redirect${status === undefined ? "" : ` (${status})`}, which is not followed`,
  ),
  blocked: failed(
    open(
      "A firewall or bot protection blocks us: nothing tells whether the API behind it works, and others may be served.",
    ),
    "blocked by a wall",
    (status = "an answer") => got(status, "a firewall or bot protection blocked us"),
  ),
  client_error: failed(NOT_AS_EXPECTED, "request refused", (status = "a 4xx") =>
    got(status, "the request was refused"),
  ),
  server_error: failed(BROKEN, "server error", (status = "a 5xx") => got(status, "server error")),
  unexpected_status: failed(
    NOT_AS_EXPECTED,
    "unexpected status",
    (status = "a status") => `got ${status}, which is not expected`,
  ),
  invalid_body: failed(BROKEN, "not valid JSON", "got an answer that is not valid JSON"),
  stream: failed(BROKEN, "stream failed", "got a stream that failed before it was complete"),
  assertion: failed(
    NOT_AS_EXPECTED,
    "answer not as asserted",
    "got an answer that does not say what it should",
  ),
  rate: throttled(
    limit("The upstream answers, but asks us to slow down. This is not an outage."),
    "too many requests",
    (status = 429) => got(status, "too many requests"),
  ),
  quota: throttled(
    limit("The quota or credit of our key is used up. Production is rejected too if it shares the account."),
    "quota or credit used up",
    (status = 402) => got(status, "quota or credit used up"),
  ),
  unauthorized: rejected(
    ourKey(
      "The upstream answers, but rejects our key. Anything else that uses this key is probably rejected too.",
    ),
    "key rejected",
    (status = 401) => got(status, "the key was rejected"),
  ),
  forbidden: rejected(
    us(
      "The upstream answers, but does not allow this: the key lacks the right, or our country or address is not served.",
    ),
    "key does not allow it",
    (status = 403) => got(status, "the key does not allow this"),
  ),
  auth: rejected(
    ourKey(
      "The token endpoint answers, but rejects our client. Anything else that uses this client is probably rejected too.",
    ),
    "no access token",
    "got no access token",
  ),
  bug: ours(
    us("This says nothing about the upstream."),
    "bug in Pacewatch",
    "failed because of a bug in Pacewatch",
  ),
  offline: ours(
    us("Our own network was down then, so this says nothing about the upstream."),
    "we were offline",
    "failed while we were offline",
  ),
  suspended: ours(
    us("Pacewatch stood still meanwhile, so this says nothing about the upstream."),
    "we were suspended",
    "was under way while Pacewatch was suspended",
  ),
  memory: ours(
    us("Pacewatch had no memory for its answer, so this says nothing about the upstream."),
    "no memory for the answer",
    "failed as Pacewatch had no memory for the answer",
  ),
};

export const REASON_NAMES: readonly Reason[] = Object.keys(REASONS).filter(isReason);

function rowsOf(outcome: ReasonRow["outcome"]) {
  return (verdict: ReasonRow["verdict"], words: string, phrase: ReasonRow["phrase"]): ReasonRow => ({
    outcome,
    verdict,
    words,
    phrase,
  });
}

function verdictsOn(side: Side) {
  return (because: string): Verdict => ({ side, because });
}

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
