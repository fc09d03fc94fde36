import { expect, test } from "vitest";
import { OK, outcomeOf } from "../../../src/kernel/exchange/outcome.ts";
import { WatchedTime } from "../../../src/features/history/watched.ts";
import { samplePoll } from "../../support/kernel-samples.ts";
import { samplePollStatus } from "../../support/samples.ts";

const START_MS = 1_790_000_000_000;
const S = 1_000;

/** A poll at so many seconds, by the schedule of that time. */
function pollAt(
  seconds: number,
  everyS: number,
  reason?: "server_error" | "rate" | "unauthorized" | "offline",
) {
  const sentAtMs = START_MS + seconds * S;
  const outcome = reason === undefined ? OK : outcomeOf(reason);
  return samplePoll({ sentAtMs, endedAtMs: sentAtMs, delayMs: 0, usualGapMs: everyS * S, outcome });
}

function covered(watched: WatchedTime, polls: readonly ReturnType<typeof pollAt>[]): readonly number[] {
  return polls.map((poll) => watched.coveredBy(poll) / S);
}

test("the first poll covers nothing, and each further one the time since the one before", () => {
  const polls = [pollAt(0, 15), pollAt(15, 15), pollAt(15.3, 15), pollAt(30, 15, "server_error")];
  expect(covered(new WatchedTime(), polls)).toEqual([0, 15, 0.3, 14.7]);
});

test("a poll that waited for its lease covers no more than from its slot", () => {
  const late = { ...pollAt(18, 15), delayMs: 3 * S };
  expect(covered(new WatchedTime(), [pollAt(0, 15), late, pollAt(30, 15)])).toEqual([0, 15, 15]);
});

test("slots that were skipped are not watched", () => {
  expect(covered(new WatchedTime(), [pollAt(0, 15), pollAt(60, 15)])).toEqual([0, 15]);
});

test.each(["rate", "unauthorized", "offline"] as const)(
  "what was %s watched nothing, nor is it made up for later",
  (reason) => {
    const polls = [pollAt(0, 15), pollAt(15, 15, reason), pollAt(30, 15, reason), pollAt(45, 15)];
    expect(covered(new WatchedTime(), polls)).toEqual([0, 0, 0, 15]);
  },
);

test("a schedule that changes changes nothing of what was watched before it", () => {
  const often = Array.from({ length: 121 }, (_, turn) => pollAt(5 * turn, 5));
  const watched = new WatchedTime();
  const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);
  expect(sum(covered(watched, often))).toBe(600);
  // From every 5s to every 10m, and back.
  expect(covered(watched, [pollAt(1_200, 600), pollAt(1_205, 5)])).toEqual([600, 5]);
});

test("a night in which no slot was due was not watched", () => {
  const [evening, morning] = [17.75 * 3_600, 32 * 3_600];
  expect(covered(new WatchedTime(), [pollAt(evening, 900), pollAt(morning, 900)])).toEqual([0, 900]);
});

test("a restart takes no longer than it took", () => {
  const before = [
    samplePollStatus({ atMs: START_MS, outcome: "ok" }),
    samplePollStatus({ atMs: START_MS + 9 * S, outcome: "throttled" }),
  ];
  expect(covered(new WatchedTime(before), [pollAt(12, 15)])).toEqual([12]);
  expect(covered(new WatchedTime(before), [pollAt(7_200, 15)])).toEqual([15]);
  const refused = Array.from({ length: 60 }, (_, turn) =>
    samplePollStatus({ atMs: START_MS + turn * 15 * S, outcome: "throttled" }),
  );
  expect(covered(new WatchedTime(refused), [pollAt(900, 15)])).toEqual([15]);
});

test("a clock that was set back gives nothing twice, and one that was set forward no more than a gap", () => {
  const back = [pollAt(3_600, 15), pollAt(15, 15), pollAt(30, 15)];
  expect(covered(new WatchedTime(), back)).toEqual([0, 0, 15]);
  const forward = [pollAt(0, 15), pollAt(3_600, 15), pollAt(3_615, 15)];
  expect(covered(new WatchedTime(), forward)).toEqual([0, 15, 15]);
});
