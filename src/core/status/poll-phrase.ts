import { PHASES, type Phase, type PhaseTimesMs } from "../exchange/exchange.ts";
import type { FailureReason, ThrottleKind } from "../exchange/outcome.ts";
import { humanLatency } from "./humanize.ts";
import type { PollStatus } from "./status.ts";

/** How a poll ended: `timed out after 10 s, waiting for the answer`. */
export function pollPhrase(poll: PollStatus): string {
  if (poll.outcome === "ok") return `got an answer after ${humanLatency(poll.durationMs)}`;
  const { reason } = poll;
  const phrase = hasPhrase(reason) ? PHRASES[reason](poll) : `ended as ${poll.outcome}`;
  return poll.offline === true ? `${phrase} while we were offline` : phrase;
}

type Phrase = (poll: PollStatus) => string;

/** Each fits after "the last poll" and after "7 of the last 8 polls". */
const PHRASES: Readonly<Record<FailureReason | ThrottleKind, Phrase>> = {
  dns: () => "could not resolve the host name",
  connect: () => "could not connect",
  tls: () => "failed in the TLS handshake",
  timeout: (poll) => `timed out after ${humanLatency(poll.durationMs)}${activity(poll.phasesMs)}`,
  reset: () => "lost the connection before the answer was complete",
  protocol: () => "got an answer that is not valid HTTP",
  body_too_large: () => "got an answer larger than allowed",
  redirect: ({ status }) =>
    `got a redirect${status === undefined ? "" : ` (${status})`}, which is not followed`,
  unauthorized: ({ status }) => `got ${status ?? 401}: the key was rejected`,
  forbidden: ({ status }) => `got ${status ?? 403}: the key does not allow this`,
  blocked: ({ status }) => `got ${status ?? "an answer"}: a firewall or bot protection blocked us`,
  client_error: ({ status }) => `got ${status ?? "a 4xx"}: the request was refused`,
  server_error: ({ status }) => `got ${status ?? "a 5xx"}: server error`,
  unexpected_status: ({ status }) => `got ${status ?? "a status"}, which is not expected`,
  invalid_body: () => "got an answer that is not valid JSON",
  assertion: () => "got an answer that does not say what it should",
  auth: () => "got no access token",
  internal: () => "failed because of a bug in Pacewatch",
  rate: ({ status }) => `got ${status ?? 429}: too many requests`,
  quota: ({ status }) => `got ${status ?? 402}: quota or credit used up`,
};

function hasPhrase(reason: string): reason is keyof typeof PHRASES {
  return Object.hasOwn(PHRASES, reason);
}

const ACTIVITIES: Readonly<Record<Phase, string>> = {
  dns: "resolving the host name",
  connect: "connecting",
  tls: "in the TLS handshake",
  wait: "waiting for the answer",
  transfer: "reading the answer",
};

function activity(phasesMs: PhaseTimesMs): string {
  const phase = lastPhase(phasesMs);
  return phase === undefined ? "" : `, ${ACTIVITIES[phase]}`;
}

/** Phases follow each other, so the poll broke in the last one that began. */
export function lastPhase(phasesMs: PhaseTimesMs): Phase | undefined {
  return PHASES.findLast((phase) => phasesMs[phase] !== undefined);
}
