import { describe, expect, it } from "vitest";
import { accountsIn, lostSlots, unheard, type Account, type Accounts } from "../../tools/soak/accounts.ts";
import type { Look } from "../../tools/soak/trend.ts";
import { isFlat } from "../../tools/soak/verdict.ts";
import { parseExposition } from "../support/metrics/exposition-parser.ts";

function looks(values: readonly number[]): readonly Look[] {
  return values.map((value, index) => ({ atMs: 1_000 + index * 500, value }));
}

/** The same noise for the same seed, between -1 and 1. */
function noise(seed: number, length: number): readonly number[] {
  let state = seed;
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

const SEEDS = Array.from({ length: 200 }, (_, index) => index + 1);
const LENGTH = 60;
const MOST_GROWTH = 0.02;

function flatOnes(value: (noise: number, index: number) => number): number {
  const runs = SEEDS.map((seed) => looks(noise(seed, LENGTH).map(value)));
  return runs.filter((run) => isFlat(run, MOST_GROWTH)).length;
}

describe("what was looked at for a while", () => {
  it("is flat where it is only noisy", () => {
    expect(flatOnes((wobble) => 100 + wobble)).toBe(SEEDS.length);
    expect(flatOnes((wobble) => 100 + 20 * wobble)).toBeGreaterThanOrEqual(SEEDS.length - 2);
  });

  it("rises where it gains more than it may, however noisy it is", () => {
    // A tenth in all: a twentieth in the second half.
    expect(flatOnes((_, index) => 100 + (10 * index) / LENGTH)).toBe(0);
    expect(flatOnes((wobble, index) => 100 + wobble + (10 * index) / LENGTH)).toBe(0);
    expect(flatOnes((wobble, index) => 100 + 20 * wobble + (100 * index) / LENGTH)).toBe(0);
  });

  it("is flat where it rose at first, and then stayed", () => {
    expect(flatOnes((wobble, index) => 100 + wobble + Math.min(50, 2 * index))).toBe(SEEDS.length);
  });

  it("is flat where it falls", () => {
    expect(flatOnes((wobble, index) => 100 + wobble - index)).toBe(SEEDS.length);
  });
});

function account(changes: Partial<Account> = {}): Account {
  return {
    slots: 10,
    waiting: 0,
    polls: 8,
    inFlight: 1,
    skipped: 1,
    sent: 8,
    suspended: 0,
    nextSlotAtMs: 1_000_000,
    ...changes,
  };
}

function scrape(changes: Partial<Account> = {}): Accounts {
  return new Map([["plain2", account(changes)]]);
}

describe("the accounts of a scrape", () => {
  it("are read from the API, the requests that were sent from the phase of waiting for the answer", () => {
    const text = [
      "# HELP pacewatch_poll_phase_duration_seconds Help.",
      "# TYPE pacewatch_poll_phase_duration_seconds summary",
      'pacewatch_poll_phase_duration_seconds_sum{upstream="plain2",phase="connect"} 4',
      'pacewatch_poll_phase_duration_seconds_count{upstream="plain2",phase="connect"} 8',
      'pacewatch_poll_phase_duration_seconds_sum{upstream="plain2",phase="wait"} 9',
      'pacewatch_poll_phase_duration_seconds_count{upstream="plain2",phase="wait"} 5',
      "# HELP pacewatch_poll_reasons_total Help.",
      "# TYPE pacewatch_poll_reasons_total counter",
      'pacewatch_poll_reasons_total{upstream="plain2",outcome="ours",reason="bug"} 3',
      'pacewatch_poll_reasons_total{upstream="plain2",outcome="ours",reason="suspended"} 2',
    ];
    const { sent: _, suspended: __, nextSlotAtMs, ...counts } = account();
    const list = { upstreams: [{ name: "plain2", counts, nextSlotAtMs }] };
    expect(accountsIn(list, parseExposition(`${text.join("\n")}\n`))).toEqual(
      scrape({ sent: 5, suspended: 2 }),
    );
  });

  it("know of a poll that was under way while the process stood still neither that it was heard nor that it was not", () => {
    const heard = (requests: number): readonly string[] =>
      unheard(scrape({ sent: 7, suspended: 1 }), new Map([["plain2", requests]]));
    expect([heard(7), heard(8)]).toEqual([[], []]);
    expect([heard(6).length, heard(9).length]).toEqual([1, 1]);
  });

  it("show a slot that never came or came twice, and do not take one that is just due for lost", () => {
    const early = [scrape(), scrape({ slots: 11, nextSlotAtMs: 1_001_000 })];
    const due = scrape({ slots: 19, nextSlotAtMs: 1_010_000 });
    const whole = scrape({ slots: 20, waiting: 1, nextSlotAtMs: 1_011_000 });
    const twice = scrape({ slots: 22, nextSlotAtMs: 1_011_000 });
    expect(lostSlots(early, [due, whole])).toEqual([]);
    expect(lostSlots(early, [due, due])).toEqual(["plain2: 1 slots were lost"]);
    expect(lostSlots(early, [twice])).toEqual(["plain2: -1 slots were lost"]);
  });

  it("are refused where the upstream heard another number of requests, one more as one less", () => {
    expect(unheard(scrape(), new Map([["plain2", 8]]))).toEqual([]);
    expect(unheard(scrape(), new Map([["plain2", 9]]))).toEqual(["plain2: it heard 9 requests, 8 were sent"]);
    expect(unheard(scrape(), new Map())).toEqual(["plain2: it heard 0 requests, 8 were sent"]);
  });
});
