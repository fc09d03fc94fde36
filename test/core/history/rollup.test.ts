import { expect, test } from "vitest";
import { availabilityVote, retentionAt } from "../../../src/core/history/rollup.ts";
import { DAY_MS, MINUTE_MS } from "../../../src/core/time/duration.ts";
import { samplePollStatus } from "../../support/samples.ts";

test.each([
  [{ outcome: "ok" }, "ok"],
  [{ outcome: "failed", reason: "timeout" }, "failed"],
  [{ outcome: "failed", reason: "timeout", offline: true }, undefined],
  [{ outcome: "failed", reason: "unauthorized" }, undefined],
  [{ outcome: "failed", reason: "internal" }, undefined],
  [{ outcome: "throttled", reason: "rate" }, undefined],
] as const)(
  "what is theirs, what is ours and what is throttled stay apart: %j counts as %s",
  (poll, vote) => {
    expect(availabilityVote(samplePollStatus(poll))).toBe(vote);
  },
);

test("polls are kept for a day, minutes for 30 days, hours for a year, quotas for their longest period", () => {
  const nowMs = 1_790_000_000_000;
  const kept = retentionAt(nowMs);
  expect(nowMs - kept.pollsFromMs).toBe(DAY_MS);
  expect(nowMs - kept.minutesFrom * MINUTE_MS).toBeGreaterThanOrEqual(30 * DAY_MS);
  expect(nowMs - kept.hoursFrom * 3_600_000).toBeGreaterThanOrEqual(365 * DAY_MS);
  expect(nowMs - kept.quotaHoursFrom * 3_600_000).toBeGreaterThan(366 * DAY_MS);
});
