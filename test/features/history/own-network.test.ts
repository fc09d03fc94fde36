import * as fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { OK, outcomeOf, type PollOutcome } from "../../../src/kernel/exchange/outcome.ts";
import { HINDSIGHT, OwnNetwork } from "../../../src/features/history/own-network.ts";
import { slotsOf } from "../../../src/kernel/schedule/schedule.ts";
import { sampleCron, samplePoll, sampleSchedule } from "../../support/kernel-samples.ts";

const TIMEOUT: PollOutcome = { kind: "failed", reason: "timeout" };
const NO_NAME: PollOutcome = { kind: "failed", reason: "dns" };
const HOUR_MS = 3_600_000;

let network: OwnNetwork;
let ours: string[];
let theirs: string[];

beforeEach(() => {
  network = new OwnNetwork();
  ours = [];
  theirs = [];
});

function watch(name: string, url = `https://${name}.example/v1`, periodMs = 10_000, nowMs = 0): void {
  network.watch({ name, url, schedule: sampleSchedule(periodMs, name) }, nowMs);
}

/** Times in seconds. Each poll took two. */
function polled(name: string, endedAt: number, outcome: PollOutcome, sentAt = endedAt - 2): void {
  const id = `${name} ${endedAt}`;
  const poll = samplePoll({ id, sentAtMs: sentAt * 1000, endedAtMs: endedAt * 1000, outcome });
  network.judge(name, poll, (judged) => {
    if (judged.outcome.reason === "offline") ours.push(id);
    else theirs.push(id);
  });
}

describe("of two upstreams that answered", () => {
  beforeEach(() => {
    watch("a");
    watch("b");
    polled("a", 10, OK);
    polled("b", 10, OK);
  });

  test("the failures are ours from the first on, as soon as both fail, until one answers", () => {
    polled("a", 20, TIMEOUT);
    polled("a", 24, TIMEOUT);
    expect(ours).toEqual([]);
    polled("b", 25, NO_NAME);
    expect(ours).toEqual(["a 20", "a 24", "b 25"]);
    polled("a", 30, TIMEOUT);
    polled("b", 40, OK);
    polled("a", 50, TIMEOUT);
    expect(ours).toEqual(["a 20", "a 24", "b 25", "a 30"]);
  });

  test("one that fails alone is at fault itself, however long", () => {
    for (let turn = 2; turn < 100; turn += 1) {
      polled("a", 10 * turn, TIMEOUT);
      polled("b", 10 * turn, OK);
    }
    expect(ours).toEqual([]);
  });

  test("one for which there is no token was not asked, and hides nothing", () => {
    watch("c");
    polled("c", 11, OK);
    for (let at = 20; at <= 120; at += 10) {
      polled("a", at, NO_NAME);
      polled("b", at + 1, NO_NAME);
      polled("c", at + 2, { kind: "rejected", reason: "auth" });
    }
    expect(ours).toContain("a 20");
    expect(ours).toHaveLength(22);
  });

  test("one that answers with an error shows that we are online", () => {
    polled("a", 20, TIMEOUT);
    polled("b", 21, { kind: "failed", reason: "server_error" });
    polled("a", 30, TIMEOUT);
    expect(ours).toEqual([]);
    polled("b", 31, { kind: "throttled", reason: "rate" });
    expect(ours).toEqual([]);
  });

  test("one that answered with errors until then does not hide for long that we are offline", () => {
    watch("broken");
    for (let at = 10; at <= 100; at += 10) {
      polled("broken", at, { kind: "failed", reason: "server_error" });
      polled("a", at, OK);
      polled("b", at, OK);
    }
    for (const name of ["a", "b"]) polled(name, 111, TIMEOUT);
    expect(ours).toEqual([]);
    polled("broken", 112, TIMEOUT);
    expect(ours).toEqual(["a 111", "b 111", "broken 112"]);
  });

  test("a bug of ours shows nothing", () => {
    polled("a", 20, TIMEOUT);
    polled("b", 20, { kind: "ours", reason: "bug" });
    expect(ours).toEqual([]);
    polled("b", 21, TIMEOUT);
    expect(ours).toEqual(["a 20", "b 21"]);
  });

  test("one that is down for long is no witness", () => {
    for (let turn = 2; turn < 10; turn += 1) {
      polled("a", 10 * turn, TIMEOUT);
      polled("b", 10 * turn, OK);
    }
    polled("b", 100, TIMEOUT);
    polled("a", 101, TIMEOUT);
    expect(ours).toEqual([]);
  });

  test("a poll that was sent while we were offline is ours, though it fails after another has answered", () => {
    polled("a", 20, TIMEOUT);
    polled("b", 21, TIMEOUT);
    ours.length = 0;
    polled("b", 30, OK);
    polled("a", 31, TIMEOUT, 28);
    expect(ours).toEqual(["a 31"]);
    polled("a", 41, TIMEOUT, 31);
    expect(ours).toEqual(["a 31"]);
  });

  test("one that leaves the config is asked no more", () => {
    watch("c");
    polled("c", 10, OK);
    network.keep(
      ["a", "c"].map((name) => ({
        name,
        url: `https://${name}.example/`,
        schedule: sampleSchedule(10_000, name),
      })),
    );
    polled("b", 20, OK);
    polled("a", 21, TIMEOUT);
    polled("c", 22, TIMEOUT);
    expect(ours).toEqual(["a 21", "c 22"]);
  });

  test("one that answered last and leaves the config does not vouch for our network any more", () => {
    watch("c");
    polled("c", 12, OK);
    const kept = ["a", "b"].map((name) => ({ name, url: `https://${name}.example/` }));
    network.keep(kept.map((each) => ({ ...each, schedule: sampleSchedule(10_000, each.name) })));
    polled("a", 20, TIMEOUT);
    polled("b", 21, TIMEOUT);
    expect(ours).toEqual(["a 20", "b 21"]);
  });

  test("failures of long ago are not blamed on us", () => {
    watch("seldom", "https://seldom.example/", HOUR_MS);
    polled("seldom", 11, OK);
    polled("a", 20, TIMEOUT);
    polled("b", 21, TIMEOUT);
    expect(ours).toEqual([]);
    polled("a", 600, TIMEOUT);
    polled("b", 610, TIMEOUT);
    expect(ours).toEqual(["a 600", "b 610"]);
  });
});

test("we are offline also where an answer from before is judged afterwards", () => {
  for (const name of ["a", "b", "c"]) {
    watch(name);
    polled(name, 10, OK);
  }
  for (const name of ["a", "b", "c"]) polled(name, 21, TIMEOUT);
  polled("c", 20, OK);
  polled("a", 30, TIMEOUT);
  expect(ours).toEqual(["a 21", "b 21", "c 21", "a 30"]);
  polled("c", 40, OK);
  polled("a", 45, TIMEOUT);
  expect(ours).toHaveLength(4);
});

describe("how many cannot be reached because we are offline", () => {
  const unreachable = (atS: number): number => network.unreachable(atS * 1000);

  beforeEach(() => {
    for (const name of ["a", "b", "c"]) watch(name);
    for (const name of ["a", "b", "c"]) polled(name, 10, OK);
  });

  test("is none while any answers, and all that fail while none does", () => {
    polled("a", 20, TIMEOUT);
    polled("b", 21, TIMEOUT);
    expect(unreachable(22)).toBe(0);
    polled("c", 23, NO_NAME);
    expect(unreachable(24)).toBe(3);
    polled("b", 30, { kind: "failed", reason: "server_error" });
    expect(unreachable(31)).toBe(0);
  });

  test("leaves out those that were down long before, and those that were not polled lately", () => {
    for (let at = 20; at <= 100; at += 10) {
      polled("a", at, TIMEOUT);
      polled("b", at, OK);
      polled("c", at, OK);
    }
    polled("a", 110, TIMEOUT);
    polled("b", 111, TIMEOUT);
    polled("c", 112, TIMEOUT);
    expect(unreachable(113)).toBe(2);
    polled("b", 400, TIMEOUT);
    expect(unreachable(500)).toBe(1);
    expect(unreachable(900)).toBe(0);
  });
});

describe("a failure in the network counts as theirs", () => {
  beforeEach(() => {
    for (const name of ["a", "b"]) {
      watch(name);
      polled(name, 10, OK);
    }
    theirs.length = 0;
  });

  test("and it is told who has answered since, if that is on another host", () => {
    watch("a2", "https://a.example/v2");
    const told: unknown[] = [];
    const fails = (endedAtMs: number): void =>
      network.judge("a", samplePoll({ endedAtMs, outcome: TIMEOUT }), ({ said }) =>
        told.push(HINDSIGHT.of(said)),
      );
    fails(20_000);
    polled("a2", 21, OK);
    fails(22_000);
    polled("b", 23, outcomeOf("server_error"));
    fails(30_000);
    polled("b", 31, TIMEOUT);
    network.keep([]);
    expect(told).toEqual([undefined, { answeredBy: "b" }, undefined]);
  });

  test("by an answer that came after it, and not by one that was judged after it", () => {
    const told: unknown[] = [];
    const poll = samplePoll({ sentAtMs: 2_000, endedAtMs: 12_000, outcome: TIMEOUT });
    network.judge("a", poll, ({ said }) => told.push(HINDSIGHT.of(said)));
    polled("b", 11, OK);
    expect([told, network.isWaiting]).toEqual([[], true]);
    polled("b", 13, OK);
    expect([told, network.isWaiting]).toEqual([[{ answeredBy: "b" }], false]);
  });

  test("once another upstream has answered, and not before", () => {
    polled("a", 20, TIMEOUT);
    polled("a", 22, NO_NAME);
    expect(theirs).toEqual([]);
    polled("b", 23, outcomeOf("server_error"));
    expect(theirs).toEqual(["a 20", "a 22", "b 23"]);
  });

  test("where no other host is polled soon, after as long as a poll takes", () => {
    watch("b", "https://b.example/", 12 * HOUR_MS);
    watch("a", "https://a.example/", 12 * HOUR_MS);
    polled("a", 20, TIMEOUT);
    polled("a", 40, NO_NAME);
    network.settle(49_999);
    expect([theirs, network.isWaiting]).toEqual([[], true]);
    network.settle(50_000);
    expect([theirs, network.isWaiting]).toEqual([["a 20"], true]);
    network.settle(70_000);
    expect([theirs, ours, network.isWaiting]).toEqual([["a 20", "a 40"], [], false]);
  });

  test("not before the poll of another host that is due, if it tells within five minutes", () => {
    polled("a", 20, TIMEOUT);
    network.settle(49_000);
    expect(theirs).toEqual([]);
    // That of b is long overdue, and so are all others.
    network.settle(51_000);
    expect(theirs).toEqual(["a 20"]);
  });

  test("where the wall clock was set back", () => {
    polled("a", 20, TIMEOUT);
    network.settle(-3_600_000);
    expect(theirs).toEqual(["a 20"]);
  });

  test("where nobody has told otherwise for five minutes", () => {
    watch("slow", "https://slow.example/", 295_000);
    const slotS = slotsOf(sampleSchedule(295_000, "slow")).next(0) / 1_000;
    polled("slow", slotS + 2, OK);
    polled("a", slotS + 10, TIMEOUT);
    theirs.length = 0;
    // The next poll of the slow one may end until 325 s after that slot.
    network.settle((slotS + 310) * 1_000 - 1);
    expect(theirs).toEqual([]);
    network.settle((slotS + 310) * 1_000);
    expect([theirs, ours]).toEqual([[`a ${slotS + 10}`], []]);
  });

  test("where it leaves the config, or the process ends", () => {
    polled("a", 20, TIMEOUT);
    network.keep([]);
    polled("a", 30, TIMEOUT);
    expect(theirs).toEqual(["a 20", "a 30"]);
  });
});

describe("beside an upstream that is polled in office hours only", () => {
  const hour = (day: number, hours: number): number => Date.UTC(2026, 10, day, hours) / 1_000;
  const [FRIDAY, SUNDAY, MONDAY] = [hour(27, 18), hour(29, 12), hour(30, 8)];

  /** Its last slot of the week is at 17:59:45. */
  function untilFridayEvening(last: PollOutcome): void {
    watch("always", undefined, 15_000, (FRIDAY - 600) * 1_000);
    const schedule = sampleCron("*/15 * 8-17 * * MON-FRI");
    network.watch({ name: "office", url: "https://office.example/", schedule }, (FRIDAY - 600) * 1_000);
    polled("office", FRIDAY - 30, OK);
    polled("always", FRIDAY - 20, OK);
    polled("office", FRIDAY - 13, last);
    for (let at = FRIDAY - 5; at < SUNDAY; at += 3_600) polled("always", at, OK);
    polled("always", SUNDAY - 15, OK);
    theirs.length = 0;
  }

  test("an outage at the weekend is theirs, though the last slot of the week failed", () => {
    untilFridayEvening(TIMEOUT);
    polled("always", SUNDAY, TIMEOUT);
    polled("always", SUNDAY + 15, TIMEOUT);
    network.settle((SUNDAY + 46) * 1_000);
    expect([ours, theirs]).toEqual([[], [`always ${SUNDAY}`, `always ${SUNDAY + 15}`]]);
    expect(network.unreachable((SUNDAY + 46) * 1_000)).toBe(0);
  });

  test("it still tells on Monday morning that we are offline", () => {
    untilFridayEvening(OK);
    for (let at = SUNDAY; at < MONDAY; at += 3_600) polled("always", at, OK);
    polled("always", MONDAY - 3, OK);
    polled("office", MONDAY + 2, TIMEOUT);
    polled("always", MONDAY + 12, TIMEOUT);
    expect(ours).toEqual([`office ${MONDAY + 2}`, `always ${MONDAY + 12}`]);
  });

  test("its next slot is waited for in office hours, and not at night", () => {
    untilFridayEvening(OK);
    polled("office", MONDAY + 2, OK);
    polled("always", MONDAY + 10, TIMEOUT);
    network.settle((MONDAY + 41) * 1_000);
    expect(theirs).not.toContain(`always ${MONDAY + 10}`);
    network.settle((MONDAY + 46) * 1_000);
    expect(theirs).toContain(`always ${MONDAY + 10}`);
  });
});

test("each poll gets its outcome once, whatever comes", () => {
  const outcomes = ["timeout", "connect", "server_error", "auth", "bug", "rate"] as const;
  const step = fc.record({
    name: fc.constantFrom("a", "a2", "b", "c"),
    afterS: fc.constantFrom(0, 1, 30, 200, 4_000),
    outcome: fc.constantFrom(OK, ...outcomes.map(outcomeOf)),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      network = new OwnNetwork();
      const judged: string[] = [];
      for (const name of ["a", "b", "c"]) watch(name, undefined, name === "c" ? HOUR_MS : 10_000);
      watch("a2", "https://a.example/v2");
      let atMs = 0;
      for (const [index, { name, afterS, outcome }] of steps.entries()) {
        atMs += afterS * 1_000;
        const poll = samplePoll({ id: `${index}`, sentAtMs: atMs - 500, endedAtMs: atMs, outcome });
        network.judge(name, poll, (told) => {
          const { kind } = told.outcome;
          expect([outcome.kind, "ours"]).toContain(kind);
          judged.push(told.id);
        });
      }
      network.keep([]);
      expect(judged.map(Number).toSorted((one, other) => one - other)).toEqual(
        steps.map((_, index) => index),
      );
    }),
    { seed: 20_261_123 },
  );
});

test("a single upstream, or several on one host, cannot tell", () => {
  watch("a");
  watch("a2", "https://a.example/v2");
  for (let turn = 0; turn < 10; turn += 1) {
    polled("a", 100 + turn, TIMEOUT);
    polled("a2", 100 + turn, TIMEOUT);
  }
  expect([ours, theirs.length]).toEqual([[], 20]);
});

test("one whose answer is fresh may still be reached; after a minute and a half it is asked no more", () => {
  watch("a");
  watch("b");
  watch("hourly", "https://hourly.example/", HOUR_MS);
  for (const name of ["a", "b", "hourly"]) polled(name, 100, OK);
  polled("a", 110, TIMEOUT);
  polled("b", 110, TIMEOUT);
  polled("a", 189, TIMEOUT);
  expect(ours).toEqual([]);
  polled("b", 191, TIMEOUT);
  expect(ours).toEqual(["a 110", "a 189", "b 110", "b 191"]);
});

test("after the start, what was not polled yet is waited for", () => {
  watch("a");
  watch("b");
  watch("new");
  polled("a", 2, TIMEOUT);
  polled("b", 2, TIMEOUT);
  expect(ours).toEqual([]);
  polled("new", 5, TIMEOUT);
  expect(ours).toEqual(["a 2", "b 2", "new 5"]);
});

test("a wall clock that was set back does not make later failures ours", () => {
  watch("a");
  watch("b");
  polled("a", 10_000, TIMEOUT);
  polled("b", 10_000, TIMEOUT);
  polled("b", 10_010, OK);
  ours.length = 0;
  polled("b", 5_000, OK);
  polled("a", 5_001, TIMEOUT);
  expect(ours).toEqual([]);
});
