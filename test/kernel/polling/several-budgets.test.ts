import { expect, test } from "vitest";

import { askOf, TestLedger } from "../../support/test-ledger.ts";
import type { LeaseDecision, Ledger } from "../../../src/kernel/budget/ledger.ts";
import type { Ticket } from "../../../src/kernel/poll/ports.ts";
import { LeaseQueue } from "../../../src/kernel/polling/lease-queue.ts";
import { sampleBudget, sampleConfig, sampleUpstream } from "../../support/kernel-samples.ts";
import { sampleAnswerHints } from "../../support/samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

const ACCOUNT = { name: "account", rates: [{ requests: 10, perMs: 10_000, label: "10s" }] };
const MODEL = { name: "model", rates: [{ requests: 3, perMs: 10_000, label: "10s" }] };

/** Nothing of the past counts any more. Each ask takes a while, as it does over Redis. */
async function line(askMs = 0): Promise<{
  readonly clock: VirtualClock;
  readonly ledger: TestLedger;
  readonly served: string[];
  /** Waits again as soon as it was served, due a period later, like a slot that comes too often. */
  readonly keepAsking: (name: string, budgets: readonly string[], periodMs: number) => void;
}> {
  const clock = new VirtualClock();
  const budgets = [ACCOUNT, MODEL].map((budget) => sampleBudget(budget));
  const upstreams = [sampleUpstream({ budgets: ["account", "model"] })];
  const ledger = new TestLedger(sampleConfig({ budgets, upstreams }), clock);
  await clock.advance(60_000);
  const served: string[] = [];
  const slow: Ledger = {
    heldBack: (ask) => ledger.inner.heldBack(ask),
    isLowered: (names) => ledger.inner.isLowered(names),
    paceGapMs: (names) => ledger.inner.paceGapMs(names),
    onChange: (listener) => ledger.onChange(listener),
    take: async (ask): Promise<LeaseDecision> => {
      await clock.sleep(askMs, new AbortController().signal);
      return ledger.inner.take(ask);
    },
  };
  const queue = new LeaseQueue(askMs === 0 ? ledger.inner : slow, clock, (error) => {
    throw error;
  });
  const keepAsking = (name: string, names: readonly string[], periodMs: number, dueMs?: number): void => {
    const due = dueMs ?? clock.now() + periodMs;
    queue.enter({
      ask: askOf(names),
      dueMs: due,
      endsAtPause: false,
      granted: (lease) => {
        served.push(name);
        lease.settle("answered");
        keepAsking(name, names, periodMs, Math.max(clock.now(), due) + periodMs);
      },
      refused: () => {},
    });
  };
  return { clock, ledger, served, keepAsking };
}

const countOf = (served: readonly string[], name: string): number =>
  served.filter((each) => each === name).length;

test.each([0, 30])(
  "who waits for two budgets is not starved by those who take one of them (an ask takes %i ms)",
  async (askMs) => {
    const { clock, served, keepAsking } = await line(askMs);
    for (const name of ["a", "b", "c"]) keepAsking(name, ["account"], 1_000);
    for (const name of ["x", "y"]) keepAsking(name, ["model"], 1_000);
    keepAsking("both", ["account", "model"], 1_000);
    await clock.advance(100_000);
    // As much as its equals: the model's pace allows 30 for the three that draw on it.
    expect(countOf(served, "both")).toBeGreaterThanOrEqual(8);
    expect(countOf(served, "a")).toBeGreaterThanOrEqual(20);
    expect(countOf(served, "x")).toBeGreaterThanOrEqual(8);
  },
);

test("neither the one who waits for two nor the others keep a budget idle for long", async () => {
  const { clock, served, keepAsking } = await line();
  for (const name of ["a", "b", "c"]) keepAsking(name, ["account"], 1_000);
  keepAsking("both", ["account", "model"], 3_400);
  await clock.advance(100_000);
  // 100 requests of the account at its pace; each of the 30 for both may cost it up to one pace gap.
  expect(served.length).toBeGreaterThanOrEqual(75);
});

test("a budget that is paused does not hold back those who do not need it", async () => {
  const { clock, ledger, served, keepAsking } = await line();
  const answerHints = {
    throttled: true,
    families: [],
    remaining: undefined,
    exhaustedPerMs: undefined,
    malformed: 0,
  };
  const pause = { scope: "budget", forMs: 50_000, source: "retry_after" } as const;
  ledger.hints.heard(["model"], { ...answerHints, pause });
  keepAsking("both", ["account", "model"], 1_000);
  keepAsking("a", ["account"], 1_000);
  await clock.advance(49_900);
  expect(countOf(served, "a")).toBeGreaterThanOrEqual(48);
  expect(countOf(served, "both")).toBe(0);
  await clock.advance(20_000);
  expect(countOf(served, "both")).toBeGreaterThanOrEqual(5);
});

test("where answers have lowered an account, nobody takes it whose wider gap would delay the one due before", async () => {
  const { clock, ledger, served, keepAsking } = await line();
  ledger.hints.heard(["account"], sampleAnswerHints({ limits: [{ requests: 2, perMs: 10_000 }] }));
  keepAsking("x", ["model"], 60_000);
  keepAsking("both", ["account", "model"], 30_000);
  keepAsking("a", ["account"], 40_000);
  await clock.advance(3_400);
  expect(served).toEqual(["x", "both"]);
});

test("two that need the same budgets in another order do not wait for each other", async () => {
  const { clock, served, keepAsking } = await line();
  keepAsking("there", ["account", "model"], 1_000);
  keepAsking("back", ["model", "account"], 1_000);
  await clock.advance(100_000);
  expect(served.length).toBeGreaterThanOrEqual(28);
  expect(Math.abs(countOf(served, "there") - countOf(served, "back"))).toBeLessThanOrEqual(1);
});

test("one whose use of a quota cannot be written keeps nobody waiting who draws on the same account", async () => {
  const clock = new VirtualClock();
  const quota = { most: 100, perMs: 86_400_000, onExhaust: "stop" } as const;
  const rates = [{ requests: 2, perMs: 10_000, label: "10s" }];
  const budgets = [sampleBudget({ ...ACCOUNT, rates }), sampleBudget({ ...MODEL, quota })];
  const home = { write: () => Promise.resolve(false) };
  const ledger = new TestLedger(sampleConfig({ budgets, upstreams: [] }), clock, { homes: [home] });
  await clock.advance(60_000);
  const queue = new LeaseQueue(ledger.inner, clock, (error) => {
    throw error;
  });
  const served: string[] = [];
  const enter = (name: string, names: readonly string[], dueMs: number): Ticket =>
    queue.enter({
      ask: askOf(names),
      dueMs,
      endsAtPause: false,
      granted: () => void served.push(name),
      refused: () => {},
    });
  const ticket = enter("both", ["account", "model"], 0);
  enter("account", ["account"], 1_000_000);
  await clock.advance(20_000);
  expect(served).toEqual(["account"]);
  expect(ticket.withdraw()).toMatchObject({ cause: "ledger", budget: "model" });
});

test("who gives up while what it would use is being written has waited for that", async () => {
  const clock = new VirtualClock();
  const quota = { most: 100, perMs: 86_400_000, onExhaust: "stop" } as const;
  const budgets = [sampleBudget({ ...MODEL, quota })];
  const home = { write: () => new Promise<boolean>(() => {}) };
  const ledger = new TestLedger(sampleConfig({ budgets, upstreams: [] }), clock, { homes: [home] });
  await clock.advance(60_000);
  const queue = new LeaseQueue(ledger.inner, clock, (error) => {
    throw error;
  });
  const waiter = { ask: askOf(["model"]), dueMs: 0, endsAtPause: false };
  const ticket = queue.enter({ ...waiter, granted: () => {}, refused: () => {} });
  await clock.advance(5_000);
  expect(ticket.withdraw()).toEqual({ cause: "ledger", budget: "model" });
});
