import { expect, test } from "vitest";
import { RedisHealth } from "../../../src/core/fleet/redis-health.ts";

function upSince(nowMs: number): RedisHealth {
  const health = new RedisHealth();
  expect(health.wrote(nowMs)).toBe(true);
  return health;
}

test("a connection that was lost is believed again with its first write", () => {
  const health = upSince(0);
  expect(health.failed(true, 20_000)).toBe(true);
  expect(health.wrote(20_050)).toBe(true);
});

test("while Redis refuses some commands and accepts others, it is down, and says so once", () => {
  const health = upSince(0);
  const changes: string[] = [];
  for (let nowMs = 20_000; nowMs < 80_000; nowMs += 500) {
    if (health.failed(false, nowMs)) changes.push("down");
    if (health.wrote(nowMs + 250)) changes.push("up");
  }
  expect(changes).toEqual(["down"]);
  expect(health.wrote(82_000)).toBe(true);
});

test("what was well for ten seconds is believed again at once, and what was not only later", () => {
  for (const [upForMs, isBelieved] of [
    [9_999, false],
    [10_000, true],
  ] as const) {
    const health = upSince(0);
    health.failed(true, upForMs);
    expect(health.wrote(upForMs)).toBe(isBelieved);
  }
});

test("the more often it flaps, the longer it must be well before that is believed", () => {
  const health = new RedisHealth();
  let changes = 0;
  for (let nowMs = 0; nowMs < 600_000; nowMs += 100) {
    if (health.wrote(nowMs) || health.failed(true, nowMs + 50)) changes += 1;
  }
  expect(changes).toBeLessThan(60);
});

test("each flap doubles the time for which it must be well, up to half a minute", () => {
  const health = upSince(0);
  let nowMs = 0;
  for (const quietMs of [1_500, 3_000, 6_000, 12_000, 24_000, 30_000, 30_000]) {
    nowMs += 100;
    expect(health.failed(true, nowMs)).toBe(true);
    expect(health.wrote(nowMs + quietMs - 1)).toBe(false);
    nowMs += quietMs;
    expect(health.wrote(nowMs)).toBe(true);
  }
});

test("each kind of problem is news once in a fault, and again in the next", () => {
  const health = upSince(0);
  health.failed(false, 20_000);
  expect([health.isNews("OOM"), health.isNews("OOM"), health.isNews("LOADING")]).toEqual([true, false, true]);
  health.wrote(30_000);
  expect(health.isNews("OOM")).toBe(true);
});

test("each kind of problem is told once, and a Redis that invents one each time is told of a few times", () => {
  const health = new RedisHealth();
  expect(health.isNews("refused NOAUTH")).toBe(true);
  expect(health.isNews("refused NOAUTH")).toBe(false);
  const told = Array.from({ length: 1_000 }, (_, index) => health.isNews(`refused E${index}`));
  expect(told.filter(Boolean).length).toBeLessThan(20);
  health.wrote(0);
  expect(health.isNews("refused NOAUTH")).toBe(true);
});

test("one that could not be reached at first is believed at once when it can", () => {
  const health = new RedisHealth();
  expect(health.failed(true, 1_000)).toBe(false);
  expect(health.wrote(1_000)).toBe(true);
});
