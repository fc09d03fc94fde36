/** What Pacewatch tells of an answer of the corpus. */

import { judgingOf } from "../../src/app/features/judging.ts";
import { HINTS } from "../../src/features/hints/fields/answer-hints.ts";
import { judge } from "../../src/kernel/polling/poll-once.ts";
import { samplePollTimes, sampleUpstream } from "../support/kernel-samples.ts";
import type { RefusalEntry } from "./entries.ts";

const MEANINGS: Readonly<Record<string, string>> = {
  "throttled rate": "rate",
  "throttled quota": "credit",
  "rejected unauthorized": "key",
  "rejected forbidden": "permission",
  "failed blocked": "blocked",
  "failed client_error": "client",
  "failed server_error": "server",
  "ok ": "ok",
};

const NOW_MS = Date.UTC(2026, 10, 20, 12, 0, 0);

export function toldOf(entry: RefusalEntry): {
  readonly means: string;
  readonly waitS: number | null;
  readonly detail: string;
} {
  const atMs = entry.at === undefined ? NOW_MS : entry.at * 1000;
  const times = samplePollTimes({ sentAtMs: atMs, endedAtMs: atMs });
  const upstream = sampleUpstream({
    expect: { status: [entry.means === "ok" ? entry.status : 200], json: true, maxBodyBytes: 1_048_576 },
  });
  const poll = judge(
    upstream,
    {
      exchange: {
        kind: "answered",
        head: { status: entry.status, reasonPhrase: "", headers: Object.entries(entry.headers) },
        body: new TextEncoder().encode(entry.body),
      },
      durationMs: 10,
      phasesMs: {},
      withoutKeys: String,
      certificateExpiresAtMs: undefined,
    },
    times,
    judgingOf(upstream),
  );
  const outcome = `${poll.outcome.kind} ${poll.outcome.reason}`;
  const pause = HINTS.of(poll.said)?.pause;
  const says = pause !== undefined && pause.source !== "credit_spent";
  return {
    means: MEANINGS[outcome] ?? outcome,
    waitS: says ? pause.forMs / 1000 : null,
    detail: poll.detail,
  };
}
