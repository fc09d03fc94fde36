import { expect, test } from "vitest";
import { LeaseQueue } from "../../../src/engine/poll/lease-queue.ts";
import { holderOf } from "../../support/ledger-worlds.ts";
import { sampleBudget, sampleConfig, sampleUpstream } from "../../support/samples.ts";

/** One account and its models: each upstream draws on both, some at a price of their own, and asks once a second. */
const MODELS = ["small", "large", "huge"];
const UPSTREAMS = Array.from({ length: 30 }, (_, index) => ({
  name: `api-${index}`,
  budgets: ["account", MODELS[index % MODELS.length] ?? ""],
  mostCost: index % 5,
}));
const RATES = [{ requests: 2_000, perMs: 60_000, label: "1m" }];
const SECONDS = 30;

test("whoever waits asks for the right to send about as often as there are polls, however many queues there are", async () => {
  const { clock, holdings, ledger } = holderOf(
    sampleConfig({
      budgets: ["account", ...MODELS].map((name) => sampleBudget({ name, rates: RATES, share: 1 })),
      upstreams: UPSTREAMS.map(({ name, budgets }) => sampleUpstream({ name, budgets })),
    }),
  );
  let [looks, polls] = [0, 0];
  const mayDrawOn = holdings.mayDrawOn.bind(holdings);
  holdings.mayDrawOn = (budgets) => {
    looks += 1;
    return mayDrawOn(budgets);
  };
  const queue = new LeaseQueue(ledger, clock, (error) => {
    throw error;
  });
  for (let second = 0; second < SECONDS; second += 1) {
    for (const { budgets, mostCost } of UPSTREAMS)
      queue.enter({
        budgets,
        mostCost,
        dueAtMs: (second + 1) * 1_000,
        endsAtPause: false,
        granted: (lease) => {
          expect(lease.isUsable()).toBe(true);
          polls += 1;
          clock.after(20, () => lease.settle("answered"));
        },
        refused: () => {},
      });
    await clock.advance(1_000);
  }
  expect(polls).toBeGreaterThan(UPSTREAMS.length * (SECONDS - 2));
  // Once to take the lease and once before the first byte, and once where another was first.
  expect(looks / polls).toBeLessThan(4);
});
