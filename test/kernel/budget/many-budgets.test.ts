import { expect, test } from "vitest";
import { LocalLedger } from "../../../src/kernel/budget/local-ledger.ts";
import type { Config, Upstream } from "../../../src/kernel/config/config.ts";
import { prove } from "../../../src/proof/proof.ts";
import { sampleBudget, sampleConfig, sampleUpstream } from "../../support/kernel-samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";
import { PROOF_PARTS } from "../../../src/app/features/proof.ts";

const BUDGETS = 1_000;

/** Each upstream has a budget of its own; `onLook` hears how often one is asked for it. */
function configOf(onLook: () => void): Config {
  const names = Array.from({ length: BUDGETS }, (_, index) => `api-${index}`);
  return sampleConfig({
    budgets: names.map((name) => sampleBudget({ name })),
    upstreams: names.map((name): Upstream => {
      const budgets = [name];
      return Object.defineProperty(sampleUpstream({ name }), "budgets", {
        enumerable: true,
        get: () => {
          onLook();
          return budgets;
        },
      });
    }),
  });
}

/** Polls wait meanwhile: with thousands of budgets, a look at each upstream for each of them takes seconds. */
test.each<[string, (config: Config) => void]>([
  ["the start of a ledger", (config) => void new LocalLedger(config, new VirtualClock())],
  ["the proof", (config) => void prove(config, PROOF_PARTS)],
])("%s looks at each upstream a few times, however many budgets there are", (_, work) => {
  let looks = 0;
  work(configOf(() => (looks += 1)));
  expect(looks).toBeLessThan(20 * BUDGETS);
});

test("a reload of a ledger does so too", () => {
  let looks = 0;
  const config = configOf(() => (looks += 1));
  const ledger = new LocalLedger(config, new VirtualClock());
  looks = 0;
  ledger.change(config);
  expect(looks).toBeLessThan(20 * BUDGETS);
});
