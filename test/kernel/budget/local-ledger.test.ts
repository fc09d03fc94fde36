import { expect, test } from "vitest";

import type { Config } from "../../../src/kernel/config/config.ts";
import { mostOf, type Price } from "../../../src/features/quota/price.ts";
import { charge, TestLedger } from "../../support/test-ledger.ts";
import type { Lease } from "../../../src/kernel/budget/ledger.ts";
import { sampleBudget, sampleConfig, sampleUpstream } from "../../support/kernel-samples.ts";
import { sampleAnswerHints, sampleQuotaRow } from "../../support/samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

const RATES = [{ requests: 1, perMs: 10_000, label: "10s" }];

function configWith(...names: readonly string[]): Config {
  return sampleConfig({
    budgets: names.map((name) => sampleBudget({ name, rates: RATES, lingerMs: 1_000 })),
    upstreams: names.map((budget) => sampleUpstream({ name: budget, budgets: [budget], timeoutMs: 10_000 })),
  });
}

function taken(ledger: TestLedger, budget: string): Lease {
  const decision = ledger.take([budget]);
  if (decision.kind === "wait") throw new Error(`it must wait until ${decision.untilMs}`);
  return decision.lease;
}

test("a renamed budget waits for a request of its old name that is still open, however long the process stood still", () => {
  const clock = new VirtualClock();
  const ledger = new TestLedger(configWith("old"), clock);
  clock.stall(100_000);
  const open = taken(ledger, "old");
  ledger.change(configWith("new"));
  clock.stall(100_000);
  expect(ledger.take(["new"])).toEqual({ kind: "wait", untilMs: 210_010, cause: "budget", budget: "new" });
  open.settle("unanswered");
  expect(ledger.take(["new"])).toEqual({ kind: "wait", untilMs: 211_010, cause: "budget", budget: "new" });
  clock.stall(11_010);
  taken(ledger, "new");
});

test("a budget that comes back by a later reload waits for what it left open", () => {
  const clock = new VirtualClock();
  const ledger = new TestLedger(configWith("other", "gone"), clock);
  clock.stall(100_000);
  const open = taken(ledger, "gone");
  ledger.change(configWith("other"));
  ledger.change(configWith("other", "gone"));
  clock.stall(100_000);
  expect(ledger.take(["gone"]).kind).toBe("wait");
  taken(ledger, "other").settle("answered");
  open.settle("unsent");
  taken(ledger, "gone");
});

test("a budget that leaves the config and comes back goes on counting its quota", () => {
  const clock = new VirtualClock({ wallMs: 0 });
  const quota = { most: 2, perMs: 2_592_000_000, onExhaust: "stop" } as const;
  const withQuota = sampleConfig({ budgets: [sampleBudget({ share: 0.1, quota })] });
  const ledger = new TestLedger(withQuota, clock, {
    quotas: { rows: [sampleQuotaRow({ hour: 0, requests: 1 })], lostHours: [] },
  });
  expect(ledger.quotas.of("api", "requests")?.used).toBe(1);
  ledger.change(sampleConfig({ budgets: [sampleBudget({ name: "other" })], upstreams: [] }));
  ledger.change(withQuota);
  expect(ledger.quotas.of("api", "requests")?.used).toBe(1);
});

test("a budget that a reload adds takes up what the state file knows of it", () => {
  const clock = new VirtualClock({ wallMs: 0 });
  const quota = { most: 2, perMs: 2_592_000_000, onExhaust: "stop" } as const;
  const quotas = { rows: [sampleQuotaRow({ hour: 0, requests: 2 })], lostHours: [] };
  const ledger = new TestLedger(sampleConfig({ budgets: [], upstreams: [] }), clock, { quotas });
  ledger.change(sampleConfig({ budgets: [sampleBudget({ quota })] }));
  expect(ledger.isQuotaSpent(["api"])).toBe(true);
});

/** A window of ten, in which the upstream has told how many are left. */
function toldOf(left: number): { ledger: TestLedger; clock: VirtualClock; woken: string[] } {
  const clock = new VirtualClock();
  const budget = sampleBudget({ rates: [{ requests: 100, perMs: 10_000, label: "10s" }], share: 1 });
  const ledger = new TestLedger(sampleConfig({ budgets: [budget] }), clock);
  const woken: string[] = [];
  ledger.onChange((name) => woken.push(name));
  clock.stall(60_000);
  taken(ledger, "api").settle("answered");
  tell(ledger, left);
  clock.stall(1_000);
  return { ledger, clock, woken };
}

function tell(ledger: TestLedger, requests: number): void {
  ledger.hints.heard(["api"], sampleAnswerHints({ remaining: { requests, limit: 10, resetMs: 7_000 } }));
}

test("no more are on their way than the upstream said were left, until its next word", () => {
  const { ledger, clock, woken } = toldOf(2);
  taken(ledger, "api");
  clock.stall(1_000);
  const second = taken(ledger, "api");
  clock.stall(1_000);
  expect(ledger.take(["api"])).toEqual({ kind: "wait", untilMs: 67_000, cause: "budget", budget: "api" });
  second.settle("answered");
  expect(ledger.take(["api"]).kind).toBe("wait");
  // It counted both, or only the one that it answered: the other is still on its way.
  tell(ledger, 1);
  expect(woken).toEqual(["api"]);
  expect(ledger.take(["api"]).kind).toBe("wait");
  tell(ledger, 2);
  taken(ledger, "api");
});

test("what the upstream said was left holds until its window ends, and for no request that was not sent", () => {
  const { ledger, clock } = toldOf(1);
  taken(ledger, "api").settle("unsent");
  clock.stall(1_000);
  taken(ledger, "api").settle("unanswered");
  clock.stall(1_000);
  expect(ledger.take(["api"]).kind).toBe("wait");
  clock.stall(4_000);
  taken(ledger, "api");
});

test("the operator's word ends it", () => {
  const { ledger, clock } = toldOf(1);
  taken(ledger, "api");
  clock.stall(1_000);
  expect(ledger.take(["api"]).kind).toBe("wait");
  expect(ledger.hints.resume("api")).toBe(true);
  taken(ledger, "api");
});

test("a spend that answers have used up stops polls whose price says at_most: 0", () => {
  const clock = new VirtualClock();
  const spend = { most: 1_000, perMs: 3_600_000, onExhaust: "stop" } as const;
  const price: Price = {
    currency: "EUR",
    parts: [{ kind: "answer", of: "/usage", per: 1, units: 600, mostUnits: 0 }],
  };
  const ledger = new TestLedger(
    sampleConfig({ budgets: [sampleBudget({ name: "api", spend })], upstreams: [sampleUpstream({ price })] }),
    clock,
  );
  clock.stall(3_600_000);
  for (const isSpent of [false, false, true]) {
    expect(ledger.isQuotaSpent(["api"], mostOf(price))).toBe(isSpent);
    const decision = ledger.take(["api"], mostOf(price));
    expect(decision.kind).toBe(isSpent ? "wait" : "granted");
    if (decision.kind === "wait") continue;
    decision.lease.settle("answered");
    charge(decision.lease, 600);
    clock.stall(600_000);
  }
});
