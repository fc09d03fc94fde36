import { expect, test } from "vitest";
import { LocalLedger } from "../../../src/core/budget/local-ledger.ts";
import { prove } from "../../../src/core/proof/proof.ts";
import type { Config } from "../../../src/core/config/config.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";
import { sampleBudget, sampleConfig, sampleUpstream } from "../../support/samples.ts";

function configOf(size: number): Config {
  const names = Array.from({ length: size }, (_, index) => `api-${index}`);
  return sampleConfig({
    budgets: names.map((name) => sampleBudget({ name })),
    upstreams: names.map((name) => sampleUpstream({ name, budgets: [name] })),
  });
}

/** The least of a few: other work only adds to it. */
function leastMs(work: () => void): number {
  return Math.min(
    ...Array.from({ length: 3 }, () => {
      const beganMs = performance.now();
      work();
      return performance.now() - beganMs;
    }),
  );
}

const CLOCK = new VirtualClock();
const MANY = configOf(8_000);
const FEW = configOf(500);

/** Sixteen times as many budgets take some sixteen times as long, and not the square of that: polls wait meanwhile. */
test.each<[string, (config: Config) => void]>([
  ["the start of a ledger", (config) => void new LocalLedger(config, CLOCK)],
  ["the proof", (config) => void prove(config)],
])("%s takes as long as there are budgets", (_, work) => {
  const few = leastMs(() => work(FEW));
  const many = leastMs(() => work(MANY));
  expect(many / few).toBeLessThan(60);
});
