/**
 * Real refusals, as providers say them (seen), and others that nobody looked at while the table was made (unseen), or
 * before each of the rounds of mending it; the sixth was gathered by others, and of the seventh, from 308 that nobody had
 * read, these brought a change. The eighth is from documentation; ten of it were wrong before.
 * The ninth are those that brought a change, of 208 that fixtures, tests and notes of other projects quote.
 * The tenth are mostly errors that come with a status of 200, and so are those of the eleventh that others quote; the rest
 * of it are good answers that look like such errors.
 */

import { describe, expect, test } from "vitest";
import { judge } from "../../src/engine/poll/poll-once.ts";
import { sampleUpstream } from "../support/samples.ts";
import { entriesOf, meaningsOf, type RefusalEntry } from "./entries.ts";

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

/** Rounded up, and of several times the longest. */
const MOST_LATE_S = 1.1;

const NOW_MS = Date.UTC(2026, 10, 20, 12, 0, 0);

function read(entry: RefusalEntry): {
  readonly means: string;
  readonly waitS: number | null;
  readonly detail: string;
} {
  const atMs = entry.at === undefined ? NOW_MS : entry.at * 1000;
  const times = {
    id: "1",
    origin: "schedule",
    sentAtMs: atMs,
    endedAtMs: atMs,
    delayMs: 0,
  } as const;
  const { poll, advice } = judge(
    sampleUpstream({
      expect: { status: [entry.means === "ok" ? entry.status : 200], json: true, maxBodyBytes: 1_048_576 },
    }),
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
  );
  const outcome = `${poll.outcome.kind} ${poll.outcome.reason}`;
  const pause = advice?.pause;
  const says = pause !== undefined && pause.source !== "credit_spent";
  return {
    means: MEANINGS[outcome] ?? outcome,
    waitS: says ? pause.forMs / 1000 : null,
    detail: poll.detail,
  };
}

describe.each([
  "seen.jsonl",
  "unseen.jsonl",
  "round-2.jsonl",
  "round-3.jsonl",
  "round-4.jsonl",
  "round-5.jsonl",
  "round-6.jsonl",
  "round-7.jsonl",
  "round-8.jsonl",
  "round-9.jsonl",
  "round-10.jsonl",
  "round-11.jsonl",
])("%s", (file) => {
  test.each(entriesOf(file).map((entry) => [entry.id, entry] as const))("%s", (_, entry) => {
    const { means, waitS, detail } = read(entry);
    const waits = [entry.wait_s, ...(entry.wait_fair === undefined ? [] : [entry.wait_fair])];
    const waitsRightly = waits.some((wait) =>
      wait === null ? waitS === null : waitS !== null && waitS >= wait && waitS <= wait + MOST_LATE_S,
    );
    const isRight = waitsRightly && meaningsOf(entry).includes(means);
    // A contested entry that is told as its source says is contested no more.
    expect({ isRight, means, waitS, detail }).toEqual({
      isRight: entry.contested === undefined,
      means,
      waitS,
      detail,
    });
  });
});
