import { expect, test } from "vitest";
import { HEALTH_STATES } from "../../../src/core/poll/health.ts";
import { bySickness, SICKEST_FIRST } from "../../../src/core/status/sickness.ts";
import { anUpstream } from "../../http/samples.ts";

function sick(
  name: string,
  state: (typeof HEALTH_STATES)[number],
  sinceMs: number,
): ReturnType<typeof anUpstream> {
  return anUpstream({ name, health: { state, sinceMs, up: undefined } });
}

test("the sickest come first, among them the latest news, and the healthy as the config has them", () => {
  const sorted = bySickness([
    sick("a", "up", 9),
    sick("b", "degraded", 1),
    sick("c", "down", 1),
    sick("d", "up", 5),
    sick("e", "throttled", 1),
    sick("f", "down", 7),
    sick("g", "unauthorized", 1),
    sick("h", "unknown", 1),
  ]);
  expect(sorted.map(({ name }) => name).join("")).toBe("fcghebad");
});

test("every state has its place", () => {
  expect(new Set(SICKEST_FIRST)).toEqual(new Set(HEALTH_STATES));
});
