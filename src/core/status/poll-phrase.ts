import { PHASES, type Phase, type PhaseTimesMs } from "../exchange/exchange.ts";
import { rowOf } from "../exchange/reasons.ts";
import { humanLatency } from "./humanize.ts";
import type { PollStatus } from "./status.ts";

/** How a poll ended: `timed out after 10 s, waiting for the answer`. */
export function pollPhrase(poll: PollStatus): string {
  if (poll.outcome === "ok") return `got an answer after ${humanLatency(poll.durationMs)}`;
  const phrase = rowOf(poll.reason)?.phrase ?? `ended as ${poll.outcome}`;
  const how = typeof phrase === "string" ? phrase : phrase(poll.status);
  const when =
    poll.reason === "timeout" ? ` after ${humanLatency(poll.durationMs)}${activity(poll.phasesMs)}` : "";
  return `${how}${when}`;
}

const ACTIVITIES: Readonly<Record<Phase, string>> = {
  dns: "resolving the host name",
  connect: "connecting",
  tls: "in the TLS handshake",
  wait: "waiting for the answer",
  transfer: "reading the answer",
  first_event: "waiting for the first event",
  stream: "reading the stream",
};

function activity(phasesMs: PhaseTimesMs): string {
  const phase = lastPhase(phasesMs);
  return phase === undefined ? "" : `, ${ACTIVITIES[phase]}`;
}

/** Phases follow each other, so the poll broke in the last one that began. */
export function lastPhase(phasesMs: PhaseTimesMs): Phase | undefined {
  return PHASES.findLast((phase) => phasesMs[phase] !== undefined);
}
