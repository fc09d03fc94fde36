import { expect, test } from "vitest";
import { HEALTH_STATES } from "../../../src/kernel/poll/health.ts";
import { WORST_FIRST, worstFirst } from "../../../src/features/status/worst-first.ts";
import { sampleUpstreamStatus } from "../../support/samples.ts";

function sick(
  name: string,
  state: (typeof HEALTH_STATES)[number],
  sinceMs: number,
): ReturnType<typeof sampleUpstreamStatus> {
  return sampleUpstreamStatus({ name, health: { state, sinceMs, up: undefined } });
}

test("the worst come first, within a state the latest change, and the healthy in the order of the config", () => {
  const sorted = worstFirst(
    [
      sick("a", "up", 9),
      sick("b", "degraded", 1),
      sick("c", "down", 1),
      sick("d", "up", 5),
      sick("e", "throttled", 1),
      sick("f", "down", 7),
      sick("g", "unauthorized", 1),
      sick("h", "unknown", 1),
    ],
    ({ health }) => health,
  );
  expect(sorted.map(({ name }) => name).join("")).toBe("fcghebad");
});

test("every state has its place", () => {
  expect(new Set(WORST_FIRST)).toEqual(new Set(HEALTH_STATES));
});
