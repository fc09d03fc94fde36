import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { DURATION_BOUNDS } from "../../src/kernel/metrics/accounts.ts";
import { CATALOGUE, CLOSED_LABELS, CONTRACT, metricsPage } from "../../tools/docs-metrics.ts";

test("the names, types and labels are those that were promised, and no others", () => {
  const lines = CATALOGUE.map(({ name, type, labels }) => {
    return `${type.padEnd(9)} ${name} ${labels.join(",")}`.trim();
  });
  expect(lines).toEqual(CONTRACT.trim().split("\n"));
});

test("the buckets of durations are those that were promised", () => {
  expect(DURATION_BOUNDS).toEqual([0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]);
});

test("a label with a closed set of values names each once", () => {
  for (const [label, values] of Object.entries(CLOSED_LABELS)) {
    expect(new Set(values).size, `label ${label}`).toBe(values.length);
  }
  const ofMessages = ["delivered", "refused"];
  expect(CLOSED_LABELS["outcome"]).toEqual(["ok", "failed", "throttled", "rejected", "ours", ...ofMessages]);
});

test("the page about the metrics tells what the catalogue tells", () => {
  expect(readFileSync("docs/metrics.md", "utf8"), "stale: run node tools/docs-metrics.ts").toBe(
    metricsPage(),
  );
});
