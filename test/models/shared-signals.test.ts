import { expect, test } from "vitest";
import type { UpstreamSignals } from "../../src/core/budget/signals.ts";
import { SharedSignals } from "./shared-signals.ts";

const WINDOW_MS = 60_000;
const MAX_PAUSE_MS = 3_600_000;
const NOW_MS = 10_000_000;
const LATE_MS = 600_000;

/** What a replica that was cut off tells when it is back. */
function heard(
  active: SharedSignals,
  changes: Partial<UpstreamSignals>,
  nowMs: number,
  agoMs: number = 0,
): void {
  const signals: UpstreamSignals = {
    isThrottled: false,
    pauseMs: 0,
    lowered: [],
    advertised: undefined,
    yieldMs: undefined,
    ...changes,
  };
  active.apply(signals, WINDOW_MS, MAX_PAUSE_MS, nowMs, nowMs - agoMs);
}

test("a late 200 does not end the count of refusals: the next pause is twice as long", () => {
  const active = new SharedSignals();
  heard(active, { isThrottled: true }, NOW_MS);
  const overMs = NOW_MS + WINDOW_MS;
  heard(active, {}, overMs, LATE_MS);
  heard(active, { isThrottled: true }, overMs + 1);
  expect(active.pausedUntilMs).toBe(overMs + 1 + 2 * WINDOW_MS);
});

test("a late 429 does not begin a count that a newer 200 has ended", () => {
  const active = new SharedSignals();
  heard(active, { isThrottled: true }, NOW_MS);
  heard(active, {}, NOW_MS + LATE_MS);
  heard(active, { isThrottled: true }, NOW_MS + LATE_MS + 1, LATE_MS / 2);
  expect(active.refusals).toBe(0);
});

test("a late word of plenty ends no yield, and brings no old remaining back", () => {
  const active = new SharedSignals();
  heard(active, { advertised: { limit: 100, remaining: 1 }, yieldMs: 30_000 }, NOW_MS);
  heard(active, { advertised: { limit: 100, remaining: 99 }, yieldMs: 0 }, NOW_MS + 1, LATE_MS);
  expect(active.yieldUntilMs).toBe(NOW_MS + 30_000);
  expect(active.advertised).toEqual({ limit: 100, remaining: 1 });
});

test("a late and lower limit does not shorten the one that stands", () => {
  const active = new SharedSignals();
  const limit = (requests: number): Partial<UpstreamSignals> => ({
    lowered: [{ perMs: WINDOW_MS, requests }],
  });
  heard(active, limit(30), NOW_MS);
  heard(active, limit(10), NOW_MS + 1_000, WINDOW_MS - 5_000);
  expect(active.loweredTo(WINDOW_MS, NOW_MS + 5_999)).toBe(10);
  expect(active.loweredTo(WINDOW_MS, NOW_MS + 6_001)).toBe(30);
  expect(active.loweredTo(WINDOW_MS, NOW_MS + WINDOW_MS)).toBeUndefined();
});

test("what is late still tightens: a long pause that was asked for goes on", () => {
  const active = new SharedSignals();
  heard(active, { isThrottled: true, pauseMs: 2 * LATE_MS }, NOW_MS, LATE_MS);
  expect(active.pausedUntilMs).toBe(NOW_MS + LATE_MS);
});

test("a clock that was set back does not make us deaf", () => {
  const active = new SharedSignals();
  heard(active, { advertised: { limit: 9, remaining: 9 } }, NOW_MS);
  active.shortenTo([WINDOW_MS], MAX_PAUSE_MS, NOW_MS - LATE_MS);
  heard(active, { advertised: { limit: 8, remaining: 8 } }, NOW_MS - LATE_MS);
  expect(active.advertised).toEqual({ limit: 8, remaining: 8 });
});
