import { expect, test } from "vitest";
import { retentionAt } from "../../../src/core/history/retention.ts";
import { DAY_MS, MINUTE_MS } from "../../../src/core/time/duration.ts";

test("polls are kept for a day, minutes for 30 days, hours for a year, quotas for their longest period", () => {
  const nowMs = 1_790_000_000_000;
  const kept = retentionAt(nowMs);
  expect(nowMs - kept.pollsFromMs).toBe(DAY_MS);
  expect(nowMs - kept.minutesFrom * MINUTE_MS).toBeGreaterThanOrEqual(30 * DAY_MS);
  expect(nowMs - kept.hoursFrom * 3_600_000).toBeGreaterThanOrEqual(365 * DAY_MS);
  expect(nowMs - kept.quotaHoursFrom * 3_600_000).toBeGreaterThan(366 * DAY_MS);
});
