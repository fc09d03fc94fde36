import { PHASES, type Phase, type PhaseTimesMs } from "../exchange/exchange.ts";
import type { FailureReason, ThrottleKind } from "../exchange/outcome.ts";
import { spokenLatency } from "./spoken.ts";
import type { PollStatus } from "./status.ts";

const DOING: Readonly<Record<Phase, string>> = {
  dns: "resolving the name",
  connect: "connecting",
  tls: "in the TLS handshake",
  wait: "waiting for the answer",
  transfer: "reading the answer",
};

type Phrase = (poll: PollStatus) => string;

/** Verbs that one poll and many share, so that "the last poll" and "7 of the last 8 polls" can go before them. */
const PHRASES: Readonly<Record<FailureReason | ThrottleKind, Phrase>> = {
  dns: () => "could not resolve the name",
  connect: () => "could not connect",
  tls: () => "failed in the TLS handshake",
  timeout: (poll) => `timed out after ${spokenLatency(poll.durationMs)}${whileDoing(poll.phasesMs)}`,
  reset: () => "lost the connection before the whole answer had come",
  protocol: () => "got an answer that is not valid HTTP",
  body_too_large: () => "got an answer larger than is allowed",
  redirect: (poll) => `got a redirect${code(poll)}, which is not followed`,
  unauthorized: (poll) => `got ${poll.status ?? 401}: the key was not accepted`,
  forbidden: (poll) => `got ${poll.status ?? 403}: the key does not allow this`,
  client_error: (poll) => `got ${poll.status ?? "a 4xx"}: the request was refused`,
  server_error: (poll) => `got ${poll.status ?? "a 5xx"}: a fault of the server`,
  unexpected_status: (poll) => `got ${poll.status ?? "a status"}, which is not expected`,
  invalid_body: () => "got an answer that is not the JSON it should be",
  internal: () => "failed inside of Pacewatch itself",
  rate: (poll) => `got ${poll.status ?? 429}: too many requests`,
  quota: (poll) => `got ${poll.status ?? 402}: the quota or the credit is spent`,
};

/** What a poll met: `timed out after 10 s, waiting for the answer`. */
export function pollPhrase(poll: PollStatus): string {
  if (poll.outcome === "ok") return `got its answer after ${spokenLatency(poll.durationMs)}`;
  const { reason } = poll;
  return isPhrased(reason) ? PHRASES[reason](poll) : `ended as ${poll.outcome}`;
}

/** Phases follow each other, so it broke in the last one that began. */
export function lastPhase(phasesMs: PhaseTimesMs): Phase | undefined {
  return PHASES.findLast((phase) => phasesMs[phase] !== undefined);
}

function whileDoing(phasesMs: PhaseTimesMs): string {
  const phase = lastPhase(phasesMs);
  return phase === undefined ? "" : `, ${DOING[phase]}`;
}

function code({ status }: PollStatus): string {
  return status === undefined ? "" : ` (${status})`;
}

function isPhrased(reason: string): reason is keyof typeof PHRASES {
  return Object.hasOwn(PHRASES, reason);
}
