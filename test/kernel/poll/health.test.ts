import { expect, test } from "vitest";

import {
  foldHealth,
  UNKNOWN_HEALTH,
  type Confirmation,
  type Health,
  type HealthEvent,
} from "../../../src/kernel/poll/health.ts";
import { OK as OK_OUTCOME, outcomeOf, type SkipCause } from "../../../src/kernel/exchange/outcome.ts";
import type { Reason } from "../../../src/kernel/exchange/reasons.ts";

type Polled = Extract<HealthEvent, { kind: "polled" }>;

const OK: Polled = {
  kind: "polled",
  outcome: OK_OUTCOME,
  isDegraded: false,
  isConfirmed: false,
  sentMs: 0,
  endedMs: 0,
};
const SLOW: Polled = { ...OK, isDegraded: true };
const THROTTLED: Polled = { ...OK, outcome: { kind: "throttled", reason: "rate" } };

function failed(reason: Reason, isConfirmed = false): Polled {
  return { ...OK, outcome: outcomeOf(reason), isConfirmed };
}

/** It was sent at `atMs`, and took 100 ms. */
function failedAt(atMs: number): Polled {
  return { ...failed("connect"), sentMs: atMs, endedMs: atMs + 100 };
}

function rejectedAt(atMs: number): Polled {
  return { ...failed("unauthorized"), sentMs: atMs, endedMs: atMs + 100 };
}

/** As soon as so many have failed. */
function soon(polls: number): Confirmation {
  return { polls, overMs: 0 };
}

function skipped(cause: SkipCause, count = 1): HealthEvent {
  return { kind: "skipped", cause, count };
}

function after(events: readonly HealthEvent[], confirm = 1): Health {
  return events.reduce((health, event) => foldHealth(health, event, soon(confirm)).health, UNKNOWN_HEALTH);
}

test("nobody has looked: unknown, and neither up nor down", () => {
  expect(UNKNOWN_HEALTH).toMatchObject({ state: "unknown", isUp: undefined });
});

test("a slow ok is degraded, and still up", () => {
  expect(after([SLOW])).toMatchObject({ state: "degraded", isUp: true });
});

test("one failure changes nothing, but asks to be confirmed", () => {
  const { health, confirmsInMs } = foldHealth(after([OK]), failed("timeout"), soon(1));
  expect(health).toMatchObject({ state: "up", isUp: true });
  expect(confirmsInMs).toBe(0);
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

test("a key that is known to be rejected is no failure that a timeout confirms", () => {
  const rejected = foldHealth(
    foldHealth(UNKNOWN_HEALTH, rejectedAt(0), OVER_10S).health,
    rejectedAt(10_000),
    OVER_10S,
  );
  expect(rejected.health.state).toBe("unauthorized");
  const hung = foldHealth(rejected.health, failedAt(60_000), OVER_10S);
  expect(hung).toMatchObject({
    health: { state: "unauthorized", failingSinceMs: 60_000 },
    confirmsInMs: 9_900,
  });
  const refusedAgain = foldHealth(hung.health, rejectedAt(70_000), OVER_10S);
  expect(refusedAgain).toMatchObject({ health: { state: "unauthorized" }, confirmsInMs: undefined });
  // Nor do two timeouts with a refusal between them.
  expect(foldHealth(refusedAgain.health, failedAt(80_000), OVER_10S).health.state).toBe("unauthorized");
  expect(foldHealth(hung.health, failedAt(70_000), OVER_10S).health.state).toBe("down");
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
  const { health, confirmsInMs } = foldHealth(after([OK, failed("dns")]), { kind: "paused" }, soon(1));
  expect(confirmsInMs).toBeUndefined();
  expect(foldHealth(health, failed("dns"), soon(1)).health.state).toBe("up");
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
  const { health, confirmsInMs } = foldHealth(after([OK], 5), failed("blocked"), soon(5));
  expect(health.state).toBe("up");
  expect(confirmsInMs).toBe(30_000);
  expect(foldHealth(health, failed("blocked"), soon(5))).toMatchObject({
    health: { state: "down", isUp: false },
    confirmsInMs: undefined,
  });
  expect(foldHealth(after([OK], 0), failed("blocked"), soon(0)).health.state).toBe("down");
});

const OVER_10S = { polls: 1, overMs: 10_000 };

test("what fails for less than it must is no outage, however many polls fail", () => {
  const first = foldHealth(after([OK]), failedAt(0), OVER_10S);
  expect(first.confirmsInMs).toBe(9_900);
  const slot = foldHealth(first.health, failedAt(5_000), OVER_10S);
  expect(slot.health.state).toBe("up");
  // What is left of the ten seconds.
  expect(slot.confirmsInMs).toBe(4_900);
  const last = foldHealth(slot.health, failedAt(10_000), OVER_10S);
  expect(last).toMatchObject({ health: { state: "down", isUp: false }, confirmsInMs: undefined });
});

test("several confirmations are spread over the time that it must fail for", () => {
  const { health, confirmsInMs } = foldHealth(UNKNOWN_HEALTH, failedAt(0), { polls: 3, overMs: 9_100 });
  expect(confirmsInMs).toBe(3_000);
  expect(foldHealth(health, failedAt(3_100), { polls: 3, overMs: 9_100 }).confirmsInMs).toBe(2_950);
});

test("an ok, a 429 and a pause end the time that it has failed for", () => {
  const { health } = foldHealth(UNKNOWN_HEALTH, failedAt(0), OVER_10S);
  for (const event of [OK, THROTTLED, { kind: "paused" } as const]) {
    const failing = foldHealth(foldHealth(health, event, OVER_10S).health, failedAt(20_000), OVER_10S);
    expect(failing.health).toMatchObject({ failingSinceMs: 20_000, streak: ["failed"] });
  }
});

test("with confirm: 0 the first failure is down, and so is what the upstream says itself", () => {
  expect(foldHealth(UNKNOWN_HEALTH, failedAt(0), { polls: 0, overMs: 10_000 }).health.state).toBe("down");
  const said = { ...failedAt(0), isConfirmed: true };
  expect(foldHealth(UNKNOWN_HEALTH, said, OVER_10S).health.state).toBe("down");
});
