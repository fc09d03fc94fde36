import { expect, test } from "vitest";

import { phaseBars } from "../../src/commands/probe.ts";

test("each phase is a bar where it lies in the whole", () => {
  expect(phaseBars({ dns: 25, connect: 25, wait: 50 })).toEqual([
    "dns          25 ms  ████████",
    "connect      25 ms          ████████",
    "wait         50 ms                  ████████████████",
  ]);
});

test("a phase that did not happen has no line; one too short for a bar still has one", () => {
  expect(phaseBars({ wait: 1_000, transfer: 0.01 })).toEqual([
    `wait           1 s  ${"█".repeat(32)}`,
    `transfer      0 ms  ${" ".repeat(31)}▏`,
  ]);
});

test("phases that took no time at all break nothing", () => {
  expect(phaseBars({ wait: 0 })).toEqual(["wait          0 ms  "]);
  expect(phaseBars({})).toEqual([]);
});

test("a phase with a long name moves the times of all to the right", () => {
  expect(phaseBars({ wait: 50, first_event: 25, stream: 25 })).toEqual([
    "wait            50 ms  ████████████████",
    "first event     25 ms                  ████████",
    "stream          25 ms                          ████████",
  ]);
});
