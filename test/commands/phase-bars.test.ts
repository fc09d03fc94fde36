import { expect, test } from "vitest";

import { formatMs, phaseBars } from "../../src/commands/probe.ts";

test("each phase is a bar where it lies in the whole", () => {
  expect(phaseBars({ dns: 25, connect: 25, wait: 50 })).toEqual([
    "dns          25 ms  ████████",
    "connect      25 ms          ████████",
    "wait         50 ms                  ████████████████",
  ]);
});

test("a phase that did not happen has no line; one too short for a bar still has one", () => {
  expect(phaseBars({ wait: 1_000, transfer: 0.01 })).toEqual([
    `wait        1.00 s  ${"█".repeat(32)}`,
    `transfer   0.01 ms  ${" ".repeat(31)}▏`,
  ]);
});

test("phases that took no time at all break nothing", () => {
  expect(phaseBars({ wait: 0 })).toEqual(["wait       0.00 ms  "]);
  expect(phaseBars({})).toEqual([]);
});

test("durations are told as a person would", () => {
  expect([0.004, 9.994, 12.6, 999, 1_500].map(formatMs)).toEqual([
    "0.00 ms",
    "9.99 ms",
    "13 ms",
    "999 ms",
    "1.50 s",
  ]);
});

test("a phase with a long name moves the times of all to the right", () => {
  expect(phaseBars({ wait: 50, first_event: 25, stream: 25 })).toEqual([
    "wait            50 ms  ████████████████",
    "first event     25 ms                  ████████",
    "stream          25 ms                          ████████",
  ]);
});
