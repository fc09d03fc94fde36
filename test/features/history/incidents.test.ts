import { describe, expect, test } from "vitest";
import type { HealthState } from "../../../src/kernel/poll/health.ts";
import {
  Incidents,
  seenElsewhere,
  isUnseen,
  seenLast,
  seenUntil,
  type Incident,
} from "../../../src/features/history/incidents.ts";
import { OK, outcomeOf as failed } from "../../../src/kernel/exchange/outcome.ts";
import type { Outcome } from "../../../src/kernel/exchange/reasons.ts";
import { samplePollStatus } from "../../support/samples.ts";
import type { PollStatus } from "../../../src/features/history/kept-poll.ts";

const to = (state: HealthState, atMs: number) => ({ from: "up", to: state, atMs }) as const;

const OURS = failed("offline");

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

test("an incident begins with its first failure, once that is confirmed, and ends with the first ok", () => {
  const incidents = new Incidents("email");
  incidents.polled(failed("server_error"), 200);
  incidents.polled(OK, 400);
  incidents.polled(failed("timeout"), 1_000);
  expect(incidents.all).toEqual([]);
  incidents.polled(failed("timeout"), 61_000);
  incidents.healthChanged(to("down", 61_001));
  expect(incidents.sinceMs).toBe(1_000);
  incidents.polled(failed("connect"), 62_000);
  const reasons = { timeout: 2, connect: 1 };
  expect(incidents.all).toEqual([incident({ polls: 3, reasons })]);
  incidents.polled(OK, 65_000);
  incidents.healthChanged(to("up", 65_000));
  expect(incidents.sinceMs).toBe(65_000);
  expect(incidents.all).toEqual([incident({ polls: 3, reasons, endedAtMs: 65_000 })]);
});

test("a failure before nobody looked, or of ours, is not its beginning", () => {
  for (const between of [
    (incidents: Incidents) => incidents.healthChanged(to("unknown", 500)),
    (incidents: Incidents) => incidents.judged(OURS, 100),
  ]) {
    const incidents = new Incidents("email");
    incidents.polled(failed("dns"), 100);
    between(incidents);
    incidents.polled(failed("timeout"), 1_000);
    incidents.polled(failed("timeout"), 1_500);
    incidents.healthChanged(to("down", 1_500));
    expect(incidents.all).toEqual([incident()]);
  }
});

test("a state that is worse than before lasts since then", () => {
  const incidents = new Incidents("email", [incident({ state: "throttled" })]);
  incidents.healthChanged({ from: "unknown", to: "down", atMs: 7_000 });
  expect(incidents.sinceMs).toBe(7_000);
});

test("it is known by the worst that it reached", () => {
  const incidents = new Incidents("email");
  incidents.polled({ kind: "throttled", reason: "rate" }, 1_000);
  incidents.healthChanged(to("throttled", 1_000));
  incidents.polled(failed("dns"), 2_000);
  incidents.healthChanged(to("down", 2_000));
  incidents.polled({ kind: "throttled", reason: "rate" }, 3_000);
  incidents.healthChanged(to("throttled", 3_000));
  expect(incidents.all).toEqual([incident({ reason: "dns", polls: 3, reasons: { dns: 1, rate: 2 } })]);
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
    incidents.polled(failed("connect"), 7_000);
    incidents.healthChanged({ from: "unknown", to: "down", atMs: 7_000 });
    expect(incidents.sinceMs).toBe(1_000);
    const goesOn = incident({ polls: 3, reasons: { timeout: 2, connect: 1 } });
    expect(incidents.all).toEqual([goesOn, past]);
    incidents.healthChanged({ from: "down", to: "up", atMs: 9_000 });
    expect(incidents.all).toEqual([{ ...goesOn, endedAtMs: 9_000 }, past]);
  });

  test("those that ended stay, and the next one is new", () => {
    const incidents = new Incidents("email", [past]);
    incidents.polled(failed("timeout"), 1_000);
    incidents.healthChanged({ from: "unknown", to: "down", atMs: 1_000 });
    expect(incidents.all).toEqual([incident({ polls: 1 }), past]);
  });
});

test("an incident knows how many of its polls had each reason, and who answered meanwhile", () => {
  const incidents = new Incidents("email");
  incidents.polled(failed("timeout"), 1_000);
  incidents.judged(failed("timeout"), 1_000, { answeredBy: "ai-router" });
  incidents.polled(failed("invalid_body"), 2_000);
  incidents.healthChanged(to("down", 2_000));
  const [before] = incidents.all;
  incidents.polled(failed("invalid_body"), 3_000);
  const answeredBy = "ai-router";
  expect(before?.reasons).toEqual({ timeout: 1, invalid_body: 1 });
  expect(incidents.all).toMatchObject([{ polls: 3, reasons: { timeout: 1, invalid_body: 2 }, answeredBy }]);
  incidents.polled(OK, 4_000);
  incidents.judged(failed("timeout"), 500, { answeredBy: "late" });
  incidents.healthChanged(to("up", 4_000));
  expect(incidents.newest).toMatchObject({ endedAtMs: 4_000, answeredBy });

  const restored = new Incidents("email", [{ ...incident(), ...before }]);
  restored.polled(failed("connect"), 5_000);
  expect(restored.newest?.reasons).toEqual({ timeout: 1, invalid_body: 1, connect: 1 });
});

describe("while we are offline", () => {
  test("an incident is ours, also where that is known only after it began", () => {
    const incidents = new Incidents("email");
    incidents.polled(failed("timeout"), 800);
    incidents.polled(failed("timeout"), 1_000);
    incidents.healthChanged(to("down", 1_000));
    const seemed = { seemed: "timeout" } as const;
    incidents.judged(OURS, 800, seemed);
    incidents.judged(OURS, 1_000, seemed);
    incidents.polled(failed("timeout"), 2_000);
    incidents.judged(OURS, 2_000, seemed);
    incidents.polled(OK, 3_000);
    incidents.judged(OK, 3_000);
    incidents.healthChanged(to("up", 3_000));
    expect(incidents.all).toEqual([
      incident({ reason: "offline", startedAtMs: 800, endedAtMs: 3_000, polls: 3 }),
    ]);
  });

  test("one that had begun before stays theirs", () => {
    const incidents = new Incidents("email");
    incidents.polled(failed("timeout"), 1_000);
    incidents.judged(failed("timeout"), 1_000);
    incidents.healthChanged(to("down", 1_000));
    incidents.polled(failed("timeout"), 2_000);
    incidents.judged(OURS, 2_000, { seemed: "timeout" });
    expect(incidents.all).toEqual([incident({ reasons: { timeout: 1, offline: 1 } })]);
  });

  test("throttling of before is no outage", () => {
    const incidents = new Incidents("email");
    incidents.polled({ kind: "throttled", reason: "rate" }, 1_000);
    incidents.judged({ kind: "throttled", reason: "rate" }, 1_000);
    incidents.healthChanged(to("throttled", 1_000));
    incidents.polled(failed("timeout"), 2_000);
    incidents.judged(OURS, 2_000, { seemed: "timeout" });
    incidents.healthChanged(to("down", 2_000));
    const reasons = { rate: 1, offline: 1 };
    expect(incidents.all).toEqual([incident({ state: "throttled", reason: "rate", reasons })]);
  });

  test("what still fails when we are online again is an incident of theirs, from then on", () => {
    const incidents = new Incidents("email");
    incidents.polled(failed("timeout"), 1_000);
    incidents.judged(OURS, 1_000, { seemed: "timeout" });
    incidents.healthChanged(to("down", 1_000));
    incidents.polled(failed("server_error"), 5_000);
    incidents.judged(failed("server_error"), 5_000);
    incidents.polled(failed("server_error"), 6_000);
    incidents.judged(failed("server_error"), 6_000);
    expect(incidents.all).toEqual([
      incident({ reason: "server_error", startedAtMs: 5_000 }),
      incident({ reason: "offline", polls: 1, endedAtMs: 5_000 }),
    ]);
  });
});

test("who throttles us when we are online again was not down", () => {
  const incidents = new Incidents("email");
  incidents.polled(failed("timeout"), 1_000);
  incidents.healthChanged(to("down", 1_000));
  incidents.judged(OURS, 1_000, { seemed: "timeout" });
  incidents.polled(failed("rate"), 5_000);
  incidents.judged(failed("rate"), 5_000);
  incidents.healthChanged({ from: "down", to: "throttled", atMs: 5_000 });
  expect(incidents.all).toEqual([
    incident({ state: "throttled", reason: "rate", startedAtMs: 5_000, polls: 1 }),
    incident({ reason: "offline", endedAtMs: 5_000, polls: 1 }),
  ]);
});

describe("an incident that was open when the process ended", () => {
  const MINUTE_MS = 60_000;
  const LAST_POLL_MS = 90_000;
  const kept = [incident(), incident({ startedAtMs: 0, endedAtMs: 500 })];

  test("has ended where it was seen last, if nobody looked for long", () => {
    expect(seenUntil(kept, LAST_POLL_MS)).toEqual([
      incident({ endedAtMs: 90_000, isUnwatched: true }),
      kept[1],
    ]);
    const over = kept.slice(1);
    expect(seenUntil(over, LAST_POLL_MS)).toEqual(over);
  });

  test("goes on after a pause of an hour", () => {
    expect(isUnseen(LAST_POLL_MS, LAST_POLL_MS + 60 * MINUTE_MS - 1)).toBe(false);
    expect(isUnseen(LAST_POLL_MS, LAST_POLL_MS + 60 * MINUTE_MS)).toBe(true);
  });
});

describe("where nobody looked for long, as the machine slept", () => {
  const HOUR_MS = 3_600_000;
  const cut = incident({ endedAtMs: 61_000, isUnwatched: true });

  function downSince(atMs: number): Incidents {
    const incidents = new Incidents("email");
    for (const polledAtMs of [atMs, atMs + 60_000]) incidents.polled(failed("timeout"), polledAtMs);
    incidents.healthChanged(to("down", atMs + 60_000));
    return incidents;
  }

  test("an incident ended when it was seen last, and is over if the next poll is ok", () => {
    const incidents = downSince(1_000);
    // It was under way meanwhile.
    incidents.polled(failed("suspended"), 9 * HOUR_MS, true);
    incidents.polled(OK, 9 * HOUR_MS + 15_000, true);
    incidents.healthChanged({ from: "down", to: "up", atMs: 9 * HOUR_MS + 15_000 });
    expect(incidents.all).toEqual([incident({ ...cut, polls: 3, reasons: { timeout: 2, suspended: 1 } })]);
  });

  test("it is another one if it fails still, since then", () => {
    const incidents = downSince(1_000);
    expect(incidents.polled(failed("dns"), 9 * HOUR_MS, true)).toMatchObject({ startedAtMs: 1_000 });
    expect(incidents.sinceMs).toBe(9 * HOUR_MS);
    expect(incidents.polled(failed("dns"), 9 * HOUR_MS + 15_000)).toBeUndefined();
    expect(incidents.all).toEqual([incident({ reason: "dns", startedAtMs: 9 * HOUR_MS }), cut]);
  });

  test("it is another one only once that is confirmed, where its state was unknown by then", () => {
    const incidents = downSince(1_000);
    incidents.healthChanged({ from: "down", to: "unknown", atMs: HOUR_MS });
    incidents.polled(failed("dns"), 9 * HOUR_MS, true);
    expect(incidents.all).toEqual([cut]);
    incidents.polled(failed("dns"), 9 * HOUR_MS + 1_000);
    incidents.healthChanged({ from: "unknown", to: "down", atMs: 9 * HOUR_MS + 1_000 });
    expect(incidents.all).toEqual([incident({ reason: "dns", startedAtMs: 9 * HOUR_MS }), cut]);
  });

  test("a failure that was not confirmed before is not its beginning", () => {
    const incidents = new Incidents("email");
    incidents.polled(failed("dns"), 1_000);
    incidents.polled(failed("timeout"), 9 * HOUR_MS, true);
    incidents.healthChanged(to("down", 9 * HOUR_MS));
    expect(incidents.all).toEqual([incident({ startedAtMs: 9 * HOUR_MS, polls: 1 })]);
  });
});

describe("how an upstream was seen last", () => {
  const polls = (...outcomes: readonly Outcome[]): readonly PollStatus[] =>
    outcomes.map((outcome, place) => samplePollStatus({ outcome, atMs: 1_000 * (place + 1) }));

  test("is as its open incident, since that began", () => {
    const left = { polls: polls("failed", "failed"), incidents: [incident()], knownUntilMs: 182_000 };
    expect(seenLast(left)).toMatchObject({
      state: "down",
      isUp: false,
      sinceMs: 1_000,
      knownUntilMs: 182_000,
    });
  });

  test("is throttled where it throttled us last, though its incident has been worse", () => {
    const throttled = polls("failed", "failed", "throttled", "ours");
    const seen = seenLast({ polls: throttled, incidents: [incident()] });
    expect(seen).toMatchObject({ state: "throttled", isUp: false, sinceMs: 3_000, lastPollAtMs: 4_000 });
  });
});

describe("an incident that another replica saw", () => {
  const theirs = { state: "down", reason: "timeout", startedAtMs: 1_000, polls: 7 } as const;

  test("goes on, as one with what was seen of it here", () => {
    expect(seenElsewhere("email", [], { incident: theirs, sinceMs: 1_000 })).toEqual([incident(theirs)]);
    const own = [incident(), incident({ startedAtMs: 0, endedAtMs: 500 })];
    const all = seenElsewhere("email", own, { incident: theirs, sinceMs: 1_000 });
    expect(all).toEqual([incident(theirs), own[1]]);
  });

  test("has ended here when it had ended there", () => {
    const [ended] = seenElsewhere("email", [incident()], { incident: undefined, sinceMs: 5_000 });
    expect(ended).toEqual(incident({ endedAtMs: 5_000 }));
    const [before] = seenElsewhere("email", [incident()], { incident: undefined, sinceMs: 500 });
    expect(before).toEqual(incident({ endedAtMs: 1_000 }));
  });
});

describe("an incident of an upstream that is no longer watched", () => {
  test("ended where it was seen last, and says so", () => {
    const incidents = new Incidents("email");
    incidents.polled({ kind: "failed", reason: "timeout" }, 1_000);
    incidents.healthChanged({ from: "up", to: "down", atMs: 1_000 });
    incidents.unwatched(45_000);
    expect(incidents.all).toMatchObject([{ startedAtMs: 1_000, endedAtMs: 45_000, isUnwatched: true }]);
    // The last poll was still in flight.
    incidents.healthChanged({ from: "up", to: "down", atMs: 50_000 });
    expect(incidents.all).toHaveLength(1);
  });

  test("lasts no longer by its coming back, healthy or not", () => {
    const first = new Incidents("email");
    first.healthChanged({ from: "up", to: "down", atMs: 1_000 });
    first.unwatched(5_000);
    const second = new Incidents("email", first.all);
    second.healthChanged({ from: "unknown", to: "up", atMs: 90_000 });
    expect(second.all).toEqual(first.all);
    second.healthChanged({ from: "up", to: "down", atMs: 95_000 });
    expect(second.all.map(({ startedAtMs }) => startedAtMs)).toEqual([95_000, 1_000]);
  });
});
