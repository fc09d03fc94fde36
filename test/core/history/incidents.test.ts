import { describe, expect, test } from "vitest";
import type { HealthState } from "../../../src/core/poll/health.ts";
import { Incidents } from "../../../src/core/history/incidents.ts";
import type { FailureReason } from "../../../src/core/exchange/outcome.ts";
import type { Incident } from "../../../src/core/status/status.ts";

const OK = { kind: "ok" } as const;
const failed = (reason: FailureReason) => ({ kind: "failed", reason }) as const;
const to = (state: HealthState, atMs: number) => ({ from: "up", to: state, atMs }) as const;

function incident(changes: Partial<Incident> = {}): Incident {
  return {
    upstream: "email",
    state: "down",
    reason: "timeout",
    startedAtMs: 1_000,
    endedAtMs: undefined,
    polls: 2,
    ...changes,
  };
}

test("an incident begins with the change of health and ends with the first ok", () => {
  const incidents = new Incidents("email");
  incidents.polled(failed("timeout"));
  expect(incidents.all).toEqual([]);
  incidents.polled(failed("timeout"));
  incidents.healthChanged(to("down", 1_000));
  incidents.polled(failed("connect"));
  expect(incidents.all).toEqual([incident()]);
  incidents.polled(OK);
  incidents.healthChanged(to("up", 5_000));
  expect(incidents.all).toEqual([incident({ endedAtMs: 5_000 })]);
});

test("it is known by the worst that it reached", () => {
  const incidents = new Incidents("email");
  incidents.polled({ kind: "throttled", throttle: "rate" });
  incidents.healthChanged(to("throttled", 1_000));
  incidents.polled(failed("dns"));
  incidents.healthChanged(to("down", 2_000));
  incidents.polled({ kind: "throttled", throttle: "rate" });
  incidents.healthChanged(to("throttled", 3_000));
  expect(incidents.all).toEqual([incident({ reason: "dns", polls: 3 })]);
});

test("not to know does not end it, and being slow does", () => {
  const incidents = new Incidents("email");
  incidents.healthChanged(to("down", 1_000));
  incidents.healthChanged(to("unknown", 2_000));
  expect(incidents.newest?.endedAtMs).toBeUndefined();
  incidents.healthChanged(to("degraded", 3_000));
  expect(incidents.newest?.endedAtMs).toBe(3_000);
});

test("the newest fifty are kept, the newest first", () => {
  const incidents = new Incidents("email");
  for (let turn = 0; turn < 80; turn += 1) {
    incidents.healthChanged(to("down", turn * 10));
    incidents.healthChanged(to("up", turn * 10 + 5));
  }
  expect(incidents.all).toHaveLength(50);
  expect(incidents.all[0]).toMatchObject({ startedAtMs: 790 });
  expect(incidents.newest).toEqual(incidents.all[0]);
});

describe("after a restart", () => {
  const past = incident({ startedAtMs: 10, endedAtMs: 20 });

  test("one that was open stays open, goes on counting, and ends with the first ok", () => {
    const incidents = new Incidents("email", [incident(), past]);
    incidents.polled(failed("connect"));
    incidents.healthChanged({ from: "unknown", to: "down", atMs: 7_000 });
    expect(incidents.all).toEqual([incident({ polls: 3 }), past]);
    incidents.healthChanged({ from: "down", to: "up", atMs: 9_000 });
    expect(incidents.all).toEqual([incident({ polls: 3, endedAtMs: 9_000 }), past]);
  });

  test("those that ended stay, and the next one is new", () => {
    const incidents = new Incidents("email", [past]);
    incidents.polled(failed("timeout"));
    incidents.healthChanged({ from: "unknown", to: "down", atMs: 1_000 });
    expect(incidents.all).toEqual([incident({ polls: 1 }), past]);
  });
});
