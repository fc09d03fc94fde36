import { expect, test } from "vitest";
import type { PollOutcome } from "../../../src/core/exchange/outcome.ts";
import { retentionAt, rollUp } from "../../../src/core/history/rollup.ts";
import { DAY_MS, MINUTE_MS } from "../../../src/core/time/duration.ts";
import type { SavedPoll } from "../../../src/core/history/state.ts";
import { pollStatusOf } from "../../../src/core/status/status.ts";
import { samplePoll } from "../../support/samples.ts";

function saved(endedAtMs: number, outcome: PollOutcome, durationMs = 100, upstream = "email"): SavedPoll {
  const withinObjective = outcome.kind === "ok" && durationMs <= 150;
  return { upstream, endedAtMs, withinObjective, status: pollStatusOf(samplePoll({ outcome, durationMs })) };
}

test("polls are counted by upstream and by the minute that they ended in", () => {
  const sums = rollUp(
    [
      saved(59_999, { kind: "ok" }),
      saved(60_000, { kind: "ok" }),
      saved(60_001, { kind: "ok" }, 100, "ai-router"),
      saved(119_999, { kind: "ok" }),
    ],
    MINUTE_MS,
  );
  expect(sums.map(({ upstream, bucket, polls }) => [upstream, bucket, polls])).toEqual([
    ["email", 0, 1],
    ["email", 1, 2],
    ["ai-router", 1, 1],
  ]);
});

test("what is theirs, what is ours and what is throttled stay apart; time is that of what was ok", () => {
  const [sum] = rollUp(
    [
      saved(1, { kind: "ok" }, 100),
      saved(2, { kind: "ok" }, 300),
      saved(3, { kind: "failed", reason: "timeout" }, 10_000),
      saved(4, { kind: "failed", reason: "unauthorized" }, 50),
      saved(5, { kind: "throttled", throttle: "rate" }, 20),
    ],
    MINUTE_MS,
  );
  expect(sum).toEqual({
    upstream: "email",
    bucket: 0,
    polls: 5,
    ok: 2,
    failed: 1,
    throttled: 1,
    withinObjective: 1,
    okDurationMs: 400,
    slowestOkMs: 300,
  });
});

test("no polls are no rows", () => expect(rollUp([], MINUTE_MS)).toEqual([]));

test("polls are kept for a day, minutes for 30 days, hours for a year, quotas for their longest period", () => {
  const nowMs = 1_790_000_000_000;
  const kept = retentionAt(nowMs);
  expect(nowMs - kept.pollsFromMs).toBe(DAY_MS);
  expect(nowMs - kept.minutesFrom * MINUTE_MS).toBeGreaterThanOrEqual(30 * DAY_MS);
  expect(nowMs - kept.hoursFrom * 3_600_000).toBeGreaterThanOrEqual(365 * DAY_MS);
  expect(nowMs - kept.quotaHoursFrom * 3_600_000).toBeGreaterThan(366 * DAY_MS);
});
