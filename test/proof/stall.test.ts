import { describe, expect, test } from "vitest";
import { latenesses, stalledAtMs } from "../../src/proof/proof.ts";
import { HOUR_MS } from "../../src/kernel/time/duration.ts";
import {
  sampleBudget,
  sampleConfig,
  sampleCron,
  sampleSchedule,
  sampleUpstream,
} from "../support/kernel-samples.ts";

const small = { requests: 5, perMs: 1_000, label: "1s" };
const wide = { requests: 100, perMs: 60_000, label: "1m" };

test("a poll may end a minute later than it would on a new budget", () => {
  const quick = sampleUpstream({ name: "quick", budgets: ["a"], timeoutMs: 2_000 });
  const both = sampleUpstream({ name: "both", budgets: ["a", "b"], timeoutMs: 10_000 });
  const latenessOf = latenesses(
    sampleConfig({
      budgets: [
        sampleBudget({ name: "a", rates: [small], lingerMs: 0 }),
        sampleBudget({ name: "b", rates: [small, wide], lingerMs: 4_000 }),
      ],
      upstreams: [quick, both],
    }),
  );
  expect(latenessOf(quick)).toBe(1_000 + 10_000 + 60_000);
  expect(latenessOf(both)).toBe(60_000 + 4_000 + 10_000 + 60_000);
});

test("a poll may be late by a whole number of seconds", () => {
  const upstream = sampleUpstream({ timeoutMs: 1_500 });
  expect(latenesses(sampleConfig({ upstreams: [upstream] }))(upstream) % 1_000).toBe(0);
});

describe("an upstream is stalled with its third slot", () => {
  const officeHours = sampleCron("*/15 * 8-17 * * MON-FRI", "Europe/Berlin");
  const fridayEvening = Date.UTC(2026, 10, 27, 16, 59, 46);
  const mondayMorning = Date.UTC(2026, 10, 30, 7, 0, 0);

  test.each([
    ["of any that come evenly", sampleCron("*/15 * * * * *"), mondayMorning, mondayMorning + 45_000],
    ["of Monday, after a weekend without any", officeHours, fridayEvening, mondayMorning + 30_000],
    ["of that day, in office hours", officeHours, mondayMorning, mondayMorning + 45_000],
    [
      "one of which comes on each Monday",
      sampleCron("0 7 * * 1"),
      fridayEvening,
      mondayMorning + 14 * 24 * HOUR_MS,
    ],
  ])("%s", (_, schedule, owedSinceMs, atMs) => {
    expect(stalledAtMs(schedule, owedSinceMs, 130_000)).toBe(atMs + 130_000);
  });

  test("of its phase", () => {
    const stalledMs = stalledAtMs(sampleSchedule(15_000), mondayMorning, 0) - mondayMorning;
    expect(stalledMs).toBeGreaterThan(30_000);
    expect(stalledMs).toBeLessThanOrEqual(45_000);
  });
});
