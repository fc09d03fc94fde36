import { expect, test } from "vitest";

import { BudgetHints } from "../../../src/features/hints/budget-hints.ts";
import { sampleBudget } from "../../support/kernel-samples.ts";
import { sampleAnswerHints } from "../../support/samples.ts";

const RATE = { requests: 60, perMs: 60_000, label: "1m" };
const THROTTLED = sampleAnswerHints({ throttled: true });

function pausedFor(forMs: number): Parameters<BudgetHints["apply"]>[0] {
  return sampleAnswerHints({ throttled: true, pause: { scope: "budget", forMs, source: "retry_after" } });
}

test("a 429 with a hint pauses the budget until then", () => {
  const hints = new BudgetHints(sampleBudget());
  hints.apply(pausedFor(20_000), 1_000);
  expect(hints.pausedUntilMs).toBe(21_000);
});

test("a hostile hint is capped at max_pause", () => {
  const hints = new BudgetHints(sampleBudget({ maxPauseMs: 600_000 }));
  hints.apply(pausedFor(999_999_999_000), 0);
  expect(hints.pausedUntilMs).toBe(600_000);
});

test("a later, shorter hint never shortens a pause", () => {
  const hints = new BudgetHints(sampleBudget());
  hints.apply(pausedFor(60_000), 0);
  hints.apply(pausedFor(1_000), 10);
  expect(hints.pausedUntilMs).toBe(60_000);
});

test("429s without a hint back off from one window, twice as long each time, and recover by one other answer", () => {
  const hints = new BudgetHints(sampleBudget());
  hints.apply(THROTTLED, 0);
  expect(hints.pausedUntilMs).toBe(60_000);
  hints.apply(THROTTLED, 60_000);
  expect(hints.pausedUntilMs).toBe(180_000);
  hints.apply(THROTTLED, 180_000);
  expect(hints.pausedUntilMs).toBe(420_000);
  hints.apply(sampleAnswerHints(), 420_000);
  hints.apply(THROTTLED, 420_001);
  expect(hints.pausedUntilMs).toBe(480_001);
});

test("after a pause that an operator ended, a refusal without a hint pauses for one window, not for two", () => {
  const hints = new BudgetHints(sampleBudget());
  hints.apply(THROTTLED, 0);
  hints.resume();
  expect(hints.pausedUntilMs).toBe(0);
  hints.apply(THROTTLED, 1_000);
  expect(hints.pausedUntilMs).toBe(61_000);
});

test("refusals that arrive during a pause do not double it", () => {
  const hints = new BudgetHints(sampleBudget());
  for (const atMs of [0, 5, 10, 15]) hints.apply(THROTTLED, atMs);
  expect(hints.pausedUntilMs).toBe(60_000);
});

test("an answer that was under way when the pause began is no recovery", () => {
  const hints = new BudgetHints(sampleBudget());
  hints.apply(THROTTLED, 0);
  hints.apply(sampleAnswerHints(), 5);
  hints.apply(THROTTLED, 60_000);
  expect(hints.pausedUntilMs).toBe(180_000);
});

test("Retry-After: 0 on a 429 is no hint", () => {
  const hints = new BudgetHints(sampleBudget());
  hints.apply(pausedFor(0), 0);
  expect(hints.pausedUntilMs).toBe(60_000);
});

test("backing off ends at max_pause, however many refusals came", () => {
  const hints = new BudgetHints(sampleBudget());
  let nowMs = 0;
  for (let refusals = 0; refusals < 100; refusals += 1) {
    hints.apply(THROTTLED, nowMs);
    expect(hints.pausedUntilMs - nowMs).toBeLessThanOrEqual(3_600_000);
    nowMs = hints.pausedUntilMs;
  }
});

test("a pause of one upstream is none of the budget's", () => {
  const hints = new BudgetHints(sampleBudget());
  hints.apply(sampleAnswerHints({ pause: { scope: "upstream", forMs: 9_000, source: "retry_after" } }), 0);
  expect(hints.pausedUntilMs).toBe(0);
});

test("an advertised limit lower than the configured one lowers the cap until a window after it was last said", () => {
  const hints = new BudgetHints(sampleBudget({ share: 0.5 }));
  hints.apply(sampleAnswerHints({ limits: [{ requests: 20, perMs: 60_000 }] }), 0);
  expect(hints.capOf(RATE, 30, 59_999)).toBe(10);
  expect(hints.capOf(RATE, 30, 60_000)).toBe(30);
});

test("a higher advertised limit changes nothing", () => {
  const hints = new BudgetHints(sampleBudget());
  hints.apply(sampleAnswerHints({ limits: [{ requests: 6_000, perMs: 60_000 }] }), 0);
  expect(hints.capOf(RATE, 60, 1)).toBe(60);
});

test("a lowered limit that is raised again counts from when the lower one was last said", () => {
  const hints = new BudgetHints(sampleBudget());
  hints.apply(sampleAnswerHints({ limits: [{ requests: 10, perMs: 60_000 }] }), 0);
  hints.apply(sampleAnswerHints({ limits: [{ requests: 30, perMs: 60_000 }] }), 30_000);
  expect(hints.capOf(RATE, 60, 59_999)).toBe(10);
  expect(hints.capOf(RATE, 60, 60_000)).toBe(30);
  expect(hints.capOf(RATE, 60, 90_000)).toBe(60);
});

test("the cap never falls under one: else nobody would see the limit rise again", () => {
  const hints = new BudgetHints(sampleBudget({ share: 0.01 }));
  hints.apply(sampleAnswerHints({ limits: [{ requests: 2, perMs: 60_000 }] }), 0);
  expect(hints.capOf(RATE, 5, 1)).toBe(1);
});

test("an advertised limit belongs to the rate of its window, scaled where no rate has it", () => {
  const rates = [
    { requests: 10, perMs: 1_000, label: "1s" },
    { requests: 300, perMs: 60_000, label: "1m" },
  ];
  const hints = new BudgetHints(sampleBudget({ rates }));
  hints.apply(sampleAnswerHints({ limits: [{ requests: 6_000, perMs: 3_600_000 }] }), 0);
  expect(hints.capOf({ requests: 300, perMs: 60_000, label: "1m" }, 300, 1)).toBe(100);
  expect(hints.capOf({ requests: 10, perMs: 1_000, label: "1s" }, 10, 1)).toBe(10);
});

test("a limit without a window is shown, and lowers nothing until its window is learned", () => {
  const hints = new BudgetHints(sampleBudget({ rates: [{ requests: 1000, perMs: 60_000, label: "1m" }] }));
  const rate = { requests: 1000, perMs: 60_000, label: "1m" };
  const five = {
    key: "ratelimit",
    unit: "requests",
    limit: 5,
    remaining: 4,
    perMs: undefined,
    resetMs: 1000,
    resource: undefined,
  };
  const answerHints = sampleAnswerHints({ families: [five] });
  hints.apply(answerHints, 0);
  expect(hints.capOf(rate, 1000, 1)).toBe(1000);
  expect(hints.limits).toMatchObject([{ limit: 5, windowFrom: undefined }]);
  for (const atMs of [15_000, 30_000, 45_000]) hints.apply(answerHints, atMs);
  expect(hints.limits).toMatchObject([{ limit: 5, perMs: 1000, windowFrom: "resets" }]);
  expect(hints.capOf(rate, 1000, 45_001)).toBe(300);
});

test("by its word alone, no upstream takes the watch below one poll a period; a refusal does", () => {
  const hints = new BudgetHints(sampleBudget({ share: 0.5 }), () => 8);
  const answerHints = sampleAnswerHints({ limits: [{ requests: 2, perMs: 60_000 }] });
  hints.apply(answerHints, 0);
  expect(hints.capOf(RATE, 30, 1)).toBe(8);
  hints.apply(sampleAnswerHints({ throttled: true }), 10);
  hints.apply(answerHints, 20);
  expect(hints.capOf(RATE, 30, 21)).toBe(1);
  // An hour without a refusal: its word alone again.
  hints.apply(answerHints, 3_600_011);
  expect(hints.capOf(RATE, 30, 3_600_012)).toBe(8);
});

test("a need beyond the configured limit loosens nothing", () => {
  const hints = new BudgetHints(sampleBudget(), () => 1000);
  hints.apply(sampleAnswerHints({ limits: [{ requests: 2, perMs: 60_000 }] }), 0);
  expect(hints.capOf(RATE, 12, 1)).toBe(12);
});

test("where only our own request is missing, nobody needs the rest: we do not yield", () => {
  const hints = new BudgetHints(sampleBudget());
  hints.apply(sampleAnswerHints({ remaining: { requests: 0, limit: 1, resetMs: undefined } }), 0);
  expect(hints.isYielding(1)).toBe(false);
});

test("a daily allowance is a quota, and lowers no rate", () => {
  const hints = new BudgetHints(sampleBudget());
  hints.apply(sampleAnswerHints({ limits: [{ requests: 1_000, perMs: 86_400_000 }] }), 0);
  expect(hints.capOf(RATE, 60, 1)).toBe(60);
});

test("little left by the upstream's word makes way for production until the reset", () => {
  const hints = new BudgetHints(sampleBudget());
  hints.apply(sampleAnswerHints({ remaining: { requests: 5, limit: 60, resetMs: 30_000 } }), 0);
  expect(hints.isYielding(29_999)).toBe(true);
  expect(hints.isYielding(30_000)).toBe(false);
  hints.apply(sampleAnswerHints({ remaining: { requests: 5, limit: 60, resetMs: 30_000 } }), 40_000);
  hints.apply(sampleAnswerHints({ remaining: { requests: 50, limit: 60, resetMs: 30_000 } }), 40_001);
  expect(hints.isYielding(40_002)).toBe(false);
});

test("what was said last is told as it was said", () => {
  const hints = new BudgetHints(sampleBudget());
  expect(hints.advertised).toEqual({ limit: undefined, remaining: undefined });
  hints.apply(sampleAnswerHints({ remaining: { requests: 41, limit: 1_000, resetMs: undefined } }), 0);
  expect(hints.advertised).toEqual({ limit: 1_000, remaining: 41 });
});
