import { expect, test } from "vitest";
import { writeReport } from "../../../src/features/report/reporting.ts";
import { type Report, reportedOf } from "../../../src/features/report/report.ts";
import { DAY_MS } from "../../../src/kernel/time/duration.ts";
import { sampleUpstream } from "../../support/kernel-samples.ts";

test("a report of hundreds of upstreams is written in parts, which together are one", () => {
  const nowMs = Date.parse("2026-10-05T00:00:00Z");
  const today = Math.floor(nowMs / DAY_MS);
  const names = Array.from({ length: 300 }, (_, index) => `api-${index}`);
  const upstreams = names.map((name) => reportedOf(sampleUpstream({ name })));
  const asked = { firstDay: today - 3, lastDay: today - 1 };
  const parts = [...writeReport({ paths: [], upstreams, asked, format: "json", nowMs })];
  expect(parts.length).toBeGreaterThan(2);
  expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(100_000);
  const report: Report = JSON.parse(parts.join(""));
  expect(report.upstreams.map(({ upstream }) => upstream)).toEqual(names);
});
