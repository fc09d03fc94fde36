import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

import { load } from "../../src/app/features/sections.ts";
import type { Happening, Scenario } from "./world/scenario.ts";
import { simulate } from "./simulate.ts";

const PATH = fileURLToPath(new URL("../../docs/examples/ai-router.yaml", import.meta.url));
const HOUR_MS = 3_600_000;

test("the recipe for a model's limit and the account's fits, and keeps each of the limits", async () => {
  const environment = {
    AI_ROUTER_BASE_URL: "https://router.example.test",
    AI_ROUTER_API_KEY: "test-key-router",
  };
  const loading = await load(PATH, { environment });
  if (loading.kind === "refused") throw new Error(JSON.stringify(loading.faults));
  const { config, proof, warnings } = loading;
  expect(warnings).toEqual([]);
  const demands = proof.budgets.map(({ budget, rates }) => [budget, rates[0]?.demand, rates[0]?.cap]);
  expect(demands).toEqual([
    ["account", 8, 12],
    ["large-models", 2, 4],
    ["small-models", 4, 10],
  ]);
  const weather = { kind: "throttle", status: 429, hint: "seconds", seconds: 20 } as const;
  const happenings: readonly Happening[] = [
    { kind: "weather", atMs: 600_000, whom: "large", forMs: 60_000, weather },
    { kind: "crash", atMs: 1_500_000, downMs: 0, takesTheMachine: false },
    { kind: "weather", atMs: 2_000_000, whom: "account", forMs: 30_000, weather: { kind: "hang" } },
  ];
  const scenario: Scenario = {
    seed: "ai router",
    credentials: config.budgets.map(({ name }) => ({
      id: name,
      algorithm: "sliding_log",
      windowStartMs: 0,
      clockRate: 1,
    })),
    setup: {
      accounts: config.budgets.map((budget) => ({ credential: budget.name, budget })),
      upstreams: config.upstreams,
    },
    roads: new Map(),
    lagMs: 0,
    happenings,
    lengthMs: HOUR_MS,
  };
  const { violation, polls } = await simulate(scenario);
  expect(violation).toBeUndefined();
  // Two once a minute, one twice, over more than an hour; some pauses.
  expect(polls).toBeGreaterThan(220);
});
