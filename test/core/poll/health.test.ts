import { expect, test } from "vitest";

import { foldHealth, UNKNOWN_HEALTH, type Health, type HealthEvent } from "../../../src/core/poll/health.ts";
import { OK as OK_OUTCOME, outcomeOf, type SkipCause } from "../../../src/core/exchange/outcome.ts";
import type { Reason } from "../../../src/core/exchange/reasons.ts";

const OK: HealthEvent = { kind: "polled", outcome: OK_OUTCOME, isDegraded: false, isConfirmed: false };
const SLOW: HealthEvent = { ...OK, isDegraded: true };
const THROTTLED: HealthEvent = {
  kind: "polled",
  outcome: { kind: "throttled", reason: "rate" },
  isDegraded: false,
  isConfirmed: false,
};

function failed(reason: Reason, isConfirmed = false): HealthEvent {
  return { kind: "polled", outcome: outcomeOf(reason), isDegraded: false, isConfirmed };
}

function skipped(cause: SkipCause, count = 1): HealthEvent {
  return { kind: "skipped", cause, count };
}

function after(events: readonly HealthEvent[], confirm = 1): Health {
  return events.reduce((health, event) => foldHealth(health, event, confirm).health, UNKNOWN_HEALTH);
}

test("nobody has looked: unknown, and neither up nor down", () => {
  expect(UNKNOWN_HEALTH).toMatchObject({ state: "unknown", isUp: undefined });
});

test("a slow ok is degraded, and still up", () => {
  expect(after([SLOW])).toMatchObject({ state: "degraded", isUp: true });
});

test("one failure changes nothing, but asks to be confirmed", () => {
  const { health, wantsConfirmation } = foldHealth(after([OK]), failed("timeout"), 1);
  expect(health).toMatchObject({ state: "up", isUp: true });
  expect(wantsConfirmation).toBe("soon");
});

test("a confirmed failure is down", () => {
  expect(after([OK, failed("timeout"), failed("reset")])).toMatchObject({ state: "down", isUp: false });
});

test("with confirm: 0 the first failure is down; with 3 the fourth", () => {
  expect(after([failed("dns")], 0).state).toBe("down");
  const three = [OK, failed("dns"), failed("dns"), failed("dns")];
  expect(after(three, 3).state).toBe("up");
  expect(after([...three, failed("dns")], 3).state).toBe("down");
});

test("an ok between two failures starts the confirmation anew", () => {
  expect(after([OK, failed("reset"), OK, failed("reset")]).state).toBe("up");
});

test("one ok recovers from down", () => {
  expect(after([failed("dns"), failed("dns"), OK])).toMatchObject({ state: "up", isUp: true });
});

test("only 401 and 403: our key is bad, which says nothing about their availability", () => {
  expect(after([OK, failed("unauthorized"), failed("forbidden")])).toMatchObject({
    state: "unauthorized",
    isUp: true,
  });
});

test("a 401 and a timeout together are down, not unauthorized", () => {
  expect(after([OK, failed("unauthorized"), failed("timeout")]).state).toBe("down");
});

test("down turns into unauthorized only when as many refusals have come as a confirmation takes", () => {
  const down = [failed("dns"), failed("dns")];
  expect(after([...down, failed("unauthorized")]).state).toBe("down");
  expect(after([...down, failed("unauthorized"), failed("unauthorized")])).toMatchObject({
    state: "unauthorized",
    isUp: false,
  });
});

test("throttled is neither up nor down: it leaves what was known", () => {
  expect(after([OK, THROTTLED])).toMatchObject({ state: "throttled", isUp: true });
  expect(after([failed("dns"), failed("dns"), THROTTLED])).toMatchObject({ state: "throttled", isUp: false });
  expect(after([THROTTLED])).toMatchObject({ state: "throttled", isUp: undefined });
});

test("a 429 between two failures breaks their confirmation", () => {
  expect(after([OK, failed("timeout"), THROTTLED, failed("timeout")]).state).toBe("throttled");
});

test("the upstream's own word that it is unavailable needs no confirmation", () => {
  expect(after([OK, failed("server_error", true)])).toMatchObject({ state: "down", isUp: false });
});

test("a pause cancels what was to be confirmed", () => {
  const { health, wantsConfirmation } = foldHealth(after([OK, failed("dns")]), { kind: "paused" }, 1);
  expect(wantsConfirmation).toBe(false);
  expect(foldHealth(health, failed("dns"), 1).health.state).toBe("up");
});

test("three slots without a completed poll: unknown, and no longer up", () => {
  expect(after([OK, skipped("budget"), skipped("overlap")]).state).toBe("up");
  expect(after([OK, skipped("budget"), skipped("overlap"), skipped("quota")])).toMatchObject({
    state: "unknown",
    isUp: undefined,
  });
  expect(after([OK, skipped("missed", 4)]).state).toBe("unknown");
});

test("a pause and yielding keep the state, however long", () => {
  expect(after([OK, skipped("backoff", 100), skipped("yield", 100)]).state).toBe("up");
});

test("a completed poll between the skips starts their count anew", () => {
  expect(after([OK, skipped("budget", 2), OK, skipped("budget", 2)]).state).toBe("up");
});

test("a bug of our own is as if nobody had looked, and never theirs", () => {
  expect(after([OK, failed("bug"), failed("bug")]).state).toBe("up");
  expect(after([OK, failed("bug"), failed("bug"), failed("bug")]).state).toBe("unknown");
});

test("a wall is not our key and not a throttle: it counts against the upstream", () => {
  expect(after([OK, failed("blocked"), failed("blocked")])).toMatchObject({ state: "down", isUp: false });
  expect(after([OK, failed("blocked"), failed("unauthorized")]).state).toBe("down");
});

test("a wall is confirmed once and slowly, however many confirmations are configured", () => {
  const { health, wantsConfirmation } = foldHealth(after([OK], 5), failed("blocked"), 5);
  expect(health.state).toBe("up");
  expect(wantsConfirmation).toBe("slowly");
  expect(foldHealth(health, failed("blocked"), 5)).toMatchObject({
    health: { state: "down", isUp: false },
    wantsConfirmation: false,
  });
  expect(foldHealth(after([OK], 0), failed("blocked"), 0).health.state).toBe("down");
});
