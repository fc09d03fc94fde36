import { expect, test } from "vitest";

import type { Budget } from "../../../src/kernel/config/config.ts";
import { TestLedger } from "../../support/test-ledger.ts";
import { ALGORITHM_NAMES, type AlgorithmName, ALGORITHMS } from "../../support/algorithms.ts";
import { RequestLedger } from "../../../src/simulator/request-ledger.ts";
import { sampleBudget, sampleConfig, sampleSchedule, sampleUpstream } from "../../support/kernel-samples.ts";
import { sampleAnswerHints } from "../../support/samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

const MINUTE_MS = 60_000;
/** Ten times what is true. */
const CONFIGURED = { requests: 100, perMs: 10_000, label: "10s" };
const TRUE_LIMIT = { requests: 10, perMs: 10_000 };
const STEP_MS = 50;

type World = {
  readonly clock: VirtualClock;
  readonly ledger: TestLedger;
  readonly budget: Budget;
};

/** Three upstreams every second. */
function world(changes: Partial<Budget> = {}, everyMs = 1_000): World {
  const budget = sampleBudget({ rates: [CONFIGURED], share: 1, maxPauseMs: 3_600_000, ...changes });
  const schedule = sampleSchedule(everyMs, "unadvertised");
  const upstreams = ["a", "b", "c"].map((name) =>
    sampleUpstream({ name, budgets: [budget.name], schedule, timeoutMs: 1_000, confirm: 0 }),
  );
  const clock = new VirtualClock();
  return { clock, budget, ledger: new TestLedger(sampleConfig({ budgets: [budget], upstreams }), clock) };
}

const REFUSED = sampleAnswerHints({ throttled: true });
const FINE = sampleAnswerHints();

/** Asks three times a second, as far as there are leases; `judge` says whether a request is answered. */
function askFor(
  forMs: number,
  { clock, ledger, budget }: World,
  judge: (nowMs: number) => boolean,
): { readonly ok: number; readonly refused: number } {
  const counted = { ok: 0, refused: 0 };
  const untilMs = clock.now() + forMs;
  let dueMs = clock.now();
  while (clock.now() < untilMs) {
    clock.stall(STEP_MS);
    if (clock.now() < dueMs) continue;
    const decision = ledger.take([budget.name]);
    if (decision.kind !== "granted") continue;
    dueMs = clock.now() + 1_000 / 3;
    const isAllowed = judge(clock.now());
    decision.lease.settle("answered");
    ledger.hints.heard([budget.name], isAllowed ? FINE : REFUSED);
    counted[isAllowed ? "ok" : "refused"] += 1;
  }
  return counted;
}

function limiter(algorithm: AlgorithmName): (nowMs: number) => boolean {
  const counts = new RequestLedger([TRUE_LIMIT], ALGORITHMS[algorithm], -3_700);
  return (nowMs) => counts.count(nowMs).allowed;
}

test.each(ALGORITHM_NAMES)(
  "a %s that tells nothing refuses three times at most, and most of it is used",
  (algorithm) => {
    const asked = world();
    const judge = limiter(algorithm);
    const first = askFor(MINUTE_MS, asked, judge);
    const next = askFor(9 * MINUTE_MS, asked, judge);
    expect(first.refused + next.refused).toBeLessThanOrEqual(3);
    expect(next.ok).toBeGreaterThan(0.8 * 9 * 60);
    expect(asked.ledger.hints.statusOf(asked.budget.name)?.advertisedLimits).toMatchObject([
      { unit: "requests", perMs: 10_000, windowFrom: "refusals" },
    ]);
  },
);

test("one refusal alone changes nothing once its pause is over", () => {
  const asked = world();
  let times = 0;
  askFor(MINUTE_MS, asked, () => (times += 1) !== 20);
  expect(asked.ledger.inner.ratesOf(asked.budget.name)?.[0]?.cap).toBe(100);
  expect(asked.ledger.hints.statusOf(asked.budget.name)?.advertisedLimits).toEqual([]);
});

test("what is answered in the pause of a refusal is of the same burst, and counts as one refusal", () => {
  const asked = world();
  askFor(MINUTE_MS, asked, () => true);
  for (const answerHints of [REFUSED, FINE, REFUSED, FINE, REFUSED])
    asked.ledger.hints.heard([asked.budget.name], answerHints);
  expect(asked.ledger.hints.statusOf(asked.budget.name)?.advertisedLimits).toEqual([]);
});

test("refusals that go on however slow we are leave one slot in four", () => {
  const asked = world();
  let times = 0;
  askFor(30 * MINUTE_MS, asked, () => (times += 1) % 5 !== 0);
  // 11 slots each within a window and a timeout, of three.
  expect(asked.ledger.inner.ratesOf(asked.budget.name)?.[0]?.cap).toBe(Math.ceil(33 / 4));
});

test("what was learned is forgotten when max_pause has passed without a refusal", () => {
  const asked = world({ maxPauseMs: 5 * MINUTE_MS });
  const judge = limiter("sliding_log");
  askFor(MINUTE_MS, asked, judge);
  const cap = (): number | undefined => asked.ledger.inner.ratesOf(asked.budget.name)?.[0]?.cap;
  expect(cap()).toBeLessThanOrEqual(10);
  askFor(5 * MINUTE_MS, asked, () => true);
  expect(cap()).toBe(100);
});

test("two a second where one is allowed: spread more, and not asked much less", () => {
  const asked = world({ rates: [{ requests: 100, perMs: MINUTE_MS, label: "1m" }] }, 2_000);
  const judge = (
    (counts) => (nowMs: number) =>
      counts.count(nowMs).allowed
  )(new RequestLedger([{ requests: 1, perMs: 1_000 }], ALGORITHMS.fixed_window));
  askFor(10 * MINUTE_MS, asked, judge);
  const { ok, refused } = askFor(10 * MINUTE_MS, asked, judge);
  expect(refused).toBe(0);
  expect(ok).toBeGreaterThan(10 * 20);
});

test.each([
  ["says its limit", { families: [{ key: "ratelimit", limit: 10, unit: "requests", perMs: 10_000 }] }],
  ["says that credit is spent", { pause: { scope: "budget", forMs: 300_000, source: "credit_spent" } }],
  ["asks for a day", { pause: { scope: "budget", forMs: 86_400_000, source: "retry_after" } }],
] as const)("nothing is learned from one that %s", (_, changes) => {
  const { clock, ledger, budget } = world();
  const refused = sampleAnswerHints({ throttled: true, ...(changes as object) });
  for (let times = 0; times < 5; times += 1) {
    clock.stall(4 * 3_600_000);
    for (const answerHints of [FINE, FINE, refused]) {
      clock.stall(1_000);
      ledger.hints.heard([budget.name], answerHints);
    }
  }
  clock.stall(3_599_000);
  expect(
    ledger.hints
      .statusOf(budget.name)
      ?.advertisedLimits.filter(({ windowFrom }) => windowFrom === "refusals"),
  ).toEqual([]);
});
