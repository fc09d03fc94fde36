import { expect, test } from "vitest";
import type { Moment } from "../../../src/core/time/moment.ts";
import { SessionValidity } from "../../../src/core/fleet/session-validity.ts";

const TTL_MS = 10_000;

function at(nowMs: number, wallAheadMs: number = 0): Moment {
  return { nowMs, wallMs: 1_790_000_000_000 + nowMs + wallAheadMs };
}

function renewed(sentAtMs: number): SessionValidity {
  const tenure = new SessionValidity("a", "boot", TTL_MS);
  tenure.answered(at(sentAtMs));
  tenure.renew(at(sentAtMs));
  return tenure;
}

test("a session is believed in from when its beat was sent, not from when it was answered, and not to its end", () => {
  const tenure = renewed(1_000);
  expect(tenure.isValidAt(at(8_999))).toBe(true);
  expect(tenure.isValidAt(at(9_000))).toBe(false);
});

test("an answer that comes late does not take back what a later one has given", () => {
  const tenure = renewed(5_000);
  tenure.renew(at(1_000));
  expect(tenure.isValidAt(at(12_999))).toBe(true);
});

test("a new session leaves what is believed as it is, and is another one", () => {
  const tenure = renewed(1_000);
  const before = tenure.session;
  tenure.begin();
  expect(tenure.session).not.toBe(before);
  expect(tenure.hasJoined).toBe(false);
  expect(tenure.isValidAt(at(8_999))).toBe(true);
});

test("it is known how long ago a beat was sent that was answered, by whichever clock says longer", () => {
  const tenure = new SessionValidity("a", "boot", TTL_MS);
  expect(tenure.answeredAgoMs(at(1_000))).toBeUndefined();
  tenure.answered(at(1_000));
  expect(tenure.answeredAgoMs(at(4_000))).toBe(3_000);
  expect(tenure.answeredAgoMs(at(4_000, 2_000))).toBe(5_000);
  tenure.begin();
  expect(tenure.answeredAgoMs(at(4_000))).toBeUndefined();
});

test("a machine that was suspended does not believe its session, and a clock that was set back gains it nothing", () => {
  const tenure = renewed(1_000);
  expect(tenure.isValidAt(at(1_001, 7_998))).toBe(true);
  expect(tenure.isValidAt(at(1_001, 7_999))).toBe(false);
  expect(tenure.isValidAt(at(9_000, -3_600_000))).toBe(false);
  tenure.renew(at(2_000, 3_600_000));
  expect(tenure.isValidAt(at(2_001, 3_600_000))).toBe(true);
});
