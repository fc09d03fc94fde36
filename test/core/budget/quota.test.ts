import { expect, test } from "vitest";

import { QUOTA_BUCKET_MS, QuotaCount } from "../../../src/core/budget/quota.ts";

const DAY_MS = 24 * QUOTA_BUCKET_MS;

test("requests count for the whole window, rounded up to whole hours", () => {
  const count = new QuotaCount();
  count.add(0, 2);
  count.add(DAY_MS / 2, 1);
  expect(count.used(DAY_MS, DAY_MS)).toBe(3);
  expect(count.used(DAY_MS + QUOTA_BUCKET_MS - 1, DAY_MS)).toBe(3);
  expect(count.used(DAY_MS + QUOTA_BUCKET_MS, DAY_MS)).toBe(1);
});

test("a request that was never sent is taken back", () => {
  const count = new QuotaCount();
  count.add(5, 1);
  count.add(5, -1);
  expect(count.used(5, DAY_MS)).toBe(0);
});

test("its memory is the hours of the window", () => {
  const count = new QuotaCount();
  for (let hour = 0; hour < 1_000; hour += 1) {
    count.add(hour * QUOTA_BUCKET_MS, 1);
    count.used(hour * QUOTA_BUCKET_MS, DAY_MS);
  }
  expect(count.buckets.size).toBeLessThanOrEqual(26);
});
