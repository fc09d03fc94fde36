import { expect, test } from "vitest";

import type { Config } from "../../../src/core/config/config.ts";
import { LocalLedger } from "../../../src/core/budget/local-ledger.ts";
import { Quotas } from "../../../src/core/budget/quotas.ts";
import type { Lease } from "../../../src/core/budget/ledger.ts";
import { sampleBudget, sampleConfig, sampleQuotaRow, sampleUpstream } from "../../support/samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

const RATES = [{ requests: 1, perMs: 10_000, label: "10s" }];

function configWith(...names: readonly string[]): Config {
  return sampleConfig({
    budgets: names.map((name) => sampleBudget({ name, rates: RATES, lingerMs: 1_000 })),
    upstreams: names.map((budget) => sampleUpstream({ name: budget, budgets: [budget], timeoutMs: 10_000 })),
  });
}

function taken(ledger: LocalLedger, budget: string): Lease {
  const decision = ledger.take([budget]);
  if (decision.kind === "wait") throw new Error(`it must wait until ${decision.untilMs}`);
  return decision.lease;
}

test("a renamed budget waits for a request of its old name that is still open, however long the process stood still", () => {
  const clock = new VirtualClock();
  const ledger = new LocalLedger(configWith("old"), clock);
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
  const ledger = new LocalLedger(configWith("other", "gone"), clock);
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
  const quota = { requests: 2, perMs: 2_592_000_000, onExhaust: "stop", pricePerRequest: undefined } as const;
  const withQuota = sampleConfig({ budgets: [sampleBudget({ share: 0.1, quota })] });
  const ledger = new LocalLedger(
    withQuota,
    clock,
    new Quotas(clock, [sampleQuotaRow({ hour: 0, requests: 1 })]),
  );
  expect(ledger.state("api")?.quotaUsed).toBe(1);
  ledger.change(sampleConfig({ budgets: [sampleBudget({ name: "other" })], upstreams: [] }));
  ledger.change(withQuota);
  expect(ledger.state("api")?.quotaUsed).toBe(1);
});

test("a budget that a reload adds takes up what the state file knows of it", () => {
  const clock = new VirtualClock({ wallMs: 0 });
  const quota = { requests: 2, perMs: 2_592_000_000, onExhaust: "stop", pricePerRequest: undefined } as const;
  const known = new Quotas(clock, [sampleQuotaRow({ hour: 0, requests: 2 })]);
  const ledger = new LocalLedger(sampleConfig({ budgets: [], upstreams: [] }), clock, known);
  ledger.change(sampleConfig({ budgets: [sampleBudget({ quota })] }));
  expect(ledger.restraint(["api"]).isQuotaSpent).toBe(true);
});
