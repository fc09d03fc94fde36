import { expect, test } from "vitest";
import { Holdings } from "../../../src/core/fleet/holdings.ts";
import type { Clock } from "../../../src/core/time/clock.ts";
import type { Moment } from "../../../src/core/time/moment.ts";

const TTL_MS = 10_000;

function at(nowMs: number, wallAheadMs: number = 0): Moment {
  return { nowMs, wallMs: 1_790_000_000_000 + nowMs + wallAheadMs };
}

class SetClock implements Clock {
  moment = at(0);
  readings = 0;

  now(): number {
    this.readings += 1;
    return this.moment.nowMs;
  }

  wallNow(): number {
    this.readings += 1;
    return this.moment.wallMs;
  }

  sleep(): Promise<void> {
    return Promise.resolve();
  }
}

function open(): { readonly holdings: Holdings; readonly clock: SetClock } {
  const clock = new SetClock();
  return { holdings: new Holdings({ name: "a", boot: "boot", ttlMs: TTL_MS }, clock), clock };
}

function renewed(sentAtMs: number): {
  readonly holdings: Holdings;
  readonly validAt: (moment: Moment) => boolean;
} {
  const { holdings, clock } = open();
  holdings.answered(at(sentAtMs));
  holdings.renew(at(sentAtMs));
  const validAt = (moment: Moment): boolean => {
    clock.moment = moment;
    return holdings.isSessionValid;
  };
  return { holdings, validAt };
}

test("a session is believed in from when its beat was sent, not from when it was answered, and not to its end", () => {
  const { holdings, validAt } = renewed(1_000);
  expect(validAt(at(8_999))).toBe(true);
  expect(validAt(at(9_000))).toBe(false);
  expect(holdings.validUntilMs).toBe(9_000);
});

test("an answer that comes late does not take back what a later one has given", () => {
  const { holdings, validAt } = renewed(5_000);
  holdings.answered(at(1_000));
  holdings.renew(at(1_000));
  expect(validAt(at(12_999))).toBe(true);
  expect(holdings.answeredAgoMs(at(6_000))).toBe(1_000);
  // Nor does one of the same millisecond, for which the wall clock was set forward.
  holdings.renew(at(5_000, 6_000));
  expect(validAt(at(5_000, 8_500))).toBe(false);
});

test("a new session leaves what is believed as it is, and is another one", () => {
  const { holdings, validAt } = renewed(1_000);
  const before = holdings.session;
  holdings.begin();
  expect(holdings.session).not.toBe(before);
  expect(holdings.hasJoined).toBe(false);
  expect(validAt(at(8_999))).toBe(true);
});

test("it is known how long ago a beat was sent that was answered, by whichever clock says longer", () => {
  const { holdings } = open();
  expect(holdings.answeredAgoMs(at(1_000))).toBeUndefined();
  holdings.answered(at(1_000));
  expect(holdings.answeredAgoMs(at(4_000))).toBe(3_000);
  expect(holdings.answeredAgoMs(at(4_000, 2_000))).toBe(5_000);
  expect(holdings.answeredAgoMs(at(500))).toBe(0);
  holdings.begin();
  expect(holdings.answeredAgoMs(at(4_000))).toBeUndefined();
});

test("a machine that was suspended does not believe its session, and a clock that was set back gains it nothing", () => {
  const { holdings, validAt } = renewed(1_000);
  expect(validAt(at(1_001, 7_998))).toBe(true);
  expect(validAt(at(1_001, 7_999))).toBe(false);
  expect(validAt(at(9_000, -3_600_000))).toBe(false);
  holdings.renew(at(2_000, 3_600_000));
  expect(validAt(at(2_001, 3_600_000))).toBe(true);
});

test("an upstream is polled by who holds it and all that it draws on, in a session that is believed", () => {
  const { holdings, validAt } = renewed(1_000);
  holdings.know(new Map([["users", ["u:users", "b:account", "b:model"]]]));
  for (const name of ["u:users", "b:account"]) holdings.claimed.add(name);
  expect([holdings.isClaimed("users"), holdings.isClaimed("orders")]).toEqual([false, false]);
  expect(holdings.mayDrawOn(["account"])).toBe(true);
  expect(holdings.mayDrawOn(["account", "model"])).toBe(false);
  holdings.claimed.add("b:model");
  expect(holdings.has("users")).toBe(true);
  expect(holdings.mayDrawOn(["account", "model"])).toBe(true);
  expect(validAt(at(9_000))).toBe(false);
  expect([holdings.isClaimed("users"), holdings.has("users")]).toEqual([true, false]);
  expect(holdings.mayDrawOn(["account"])).toBe(false);
});

test("what is not claimed is answered without a look at any clock, and what is with one at each", () => {
  const { holdings, clock } = open();
  holdings.renew(at(0));
  holdings.know(new Map([["users", ["u:users"]]]));
  expect(holdings.has("users")).toBe(false);
  expect(clock.readings).toBe(0);
  holdings.claimed.add("u:users");
  expect(holdings.has("users")).toBe(true);
  expect(clock.readings).toBe(2);
});
