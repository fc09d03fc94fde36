import { expect, test } from "vitest";
import { recentTrouble } from "../../../src/features/status/recent-trouble.ts";
import { samplePollStatus } from "../../support/samples.ts";
import type { PollStatus } from "../../../src/features/history/kept-poll.ts";

const TIMEOUT = samplePollStatus({
  outcome: "failed",
  reason: "timeout",
  status: undefined,
  durationMs: 10_004,
  phasesMs: { dns: 1, connect: 9, tls: 20, wait: 9_974 },
});
const BROKEN = samplePollStatus({ outcome: "failed", reason: "server_error", status: 503 });
const RESET = samplePollStatus({ outcome: "failed", reason: "reset", status: undefined });

/** `o` ok, `t` timed out, `s` 503, `r` reset; the newest last. */
function polls(story: string): readonly PollStatus[] {
  const kinds: Readonly<Record<string, PollStatus>> = {
    o: samplePollStatus(),
    t: TIMEOUT,
    s: BROKEN,
    r: RESET,
  };
  return story.split("").flatMap((letter) => kinds[letter] ?? []);
}

const TIMED_OUT = "timed out after 10 s, waiting for the answer";

test.each([
  ["ooooooooot", `The last poll ${TIMED_OUT}`],
  ["ooooooootttt", `The last 4 polls ${TIMED_OUT}`],
  ["ootttottttt", `7 of the last 8 polls ${TIMED_OUT}`],
  ["oooooootoot", `2 of the last 4 polls ${TIMED_OUT}`],
  ["otttttttttttt", `The last 12 polls ${TIMED_OUT}`],
  ["ooosst", `The last 3 polls failed: 2 got 503: server error; 1 ${TIMED_OUT}`],
  ["osrtsttt", `The last 7 polls failed: 4 ${TIMED_OUT}; 2 got 503: server error; 1 for other reasons`],
])("of %s is said: %s", (story, sentence) => expect(recentTrouble(polls(story))).toBe(sentence));

test("what was throttled or rejected did not fail", () => {
  const throttled = samplePollStatus({ outcome: "throttled", reason: "rate", status: 429 });
  expect(recentTrouble([BROKEN, BROKEN, throttled])).toBe(
    "The last 3 polls were not ok: 2 got 503: server error; 1 got 429: too many requests",
  );
});

test("two timeouts are one kind whatever their milliseconds, but not in different phases", () => {
  const later = { ...TIMEOUT, durationMs: 10_041 };
  expect(recentTrouble([TIMEOUT, later])).toBe(`The last 2 polls ${TIMED_OUT}`);
  const connecting = { ...TIMEOUT, phasesMs: { dns: 1, connect: 10_000 } };
  expect(recentTrouble([TIMEOUT, connecting])).toBe(
    `The last 2 polls failed: 1 timed out after 10 s, connecting; 1 ${TIMED_OUT}`,
  );
});

test("where nothing was in trouble, nothing is said", () => {
  expect(recentTrouble([])).toBeUndefined();
  expect(recentTrouble(polls("ooo"))).toBeUndefined();
});
