import { describe, expect, test } from "vitest";
import { type PollAccounts, logFaults, scrapeFaults } from "./account-judge.ts";
import { holderFaults } from "./holder-judge.ts";
import { busiestWindow, limitFaults } from "./limit-judge.ts";
import type { SeenRequest } from "./witness.ts";

const PERIOD_MS = 1_000;

/** Each answered after 100 ms. */
function requests(life: string, timesMs: readonly number[], upstream = "email"): readonly SeenRequest[] {
  return timesMs.map((atMs) => ({ budget: "api", upstream, life, atMs, endedAtMs: atMs + 100 }));
}

describe("the judge of limits", () => {
  test("counts the busiest window wherever it begins, and a window is open at one end", () => {
    expect(busiestWindow([], 1_000)).toBe(0);
    expect(busiestWindow([0, 1_000, 2_000], 1_000)).toBe(1);
    expect(busiestWindow([0, 900, 1_000, 1_100, 1_899, 1_900], 1_000)).toBe(4);
  });

  test("adds up what several replicas send on one budget, and on no other", () => {
    const seen = [...requests("r1", [0, 10]), ...requests("r2", [20])];
    expect(limitFaults(seen, { requests: 3, perMs: 1_000 })).toEqual([]);
    expect(limitFaults(seen, { requests: 2, perMs: 1_000 })).toEqual(["api: 3 of 2 requests in 1000 ms"]);
    const apart = [...seen.slice(0, 2), ...requests("r2", [20]).map((each) => ({ ...each, budget: "b" }))];
    expect(limitFaults(apart, { requests: 2, perMs: 1_000 })).toEqual([]);
  });
});

describe("the judge of holders", () => {
  test("sees a request that comes before another replica's is answered", () => {
    const seen = [...requests("r1", [0]), ...requests("r2", [50])];
    expect(holderFaults(seen, PERIOD_MS)).toEqual(["email: r1 and r2 both polled it for 50 ms"]);
  });

  test("sees two that poll in turn, even where no two requests meet", () => {
    const seen = [...requests("r1", [0, 1_000, 2_000]), ...requests("r2", [500, 1_500])];
    expect(holderFaults(seen, PERIOD_MS)).toEqual(["email: r1 and r2 both polled it for 1100 ms"]);
  });

  test("sees one poll of somebody else in the middle of a stretch", () => {
    const seen = [...requests("r1", [0, 1_000, 2_000]), ...requests("r2", [1_300])];
    expect(holderFaults(seen, PERIOD_MS)).toHaveLength(1);
  });

  test("tells the lives of one replica apart", () => {
    const seen = [...requests("r1.1", [0, 1_000]), ...requests("r1.2", [900])];
    expect(holderFaults(seen, PERIOD_MS)).toHaveLength(1);
  });
});

describe("the judge of accounts", () => {
  const account: PollAccounts = {
    upstream: "email",
    slots: 3,
    polls: 2,
    skipped: 1,
    inFlight: 0,
    failed: 0,
  };
  const seen = requests("r1", [1_000, 2_000]);

  function faults(changes: Partial<PollAccounts>, atMs = 3_000): readonly string[] {
    return scrapeFaults(seen, [
      { life: "r1", fromMs: 0, untilMs: 10, accounts: [] },
      { life: "r1", fromMs: atMs, untilMs: atMs + 10, accounts: [{ ...account, ...changes }] },
    ]);
  }

  test("sees slots that do not add up", () => {
    expect(faults({ slots: 4 })).toHaveLength(1);
  });

  test("sees a request that is no poll", () => {
    expect(faults({ polls: 1, slots: 2 })).toEqual([
      "r1 email: 1 polls and 0 in flight, and 2 requests were seen",
    ]);
  });

  test("sees an answered poll that was no request, and lets a failed one pass", () => {
    expect(faults({ polls: 3, slots: 4 })).toHaveLength(1);
    expect(faults({ polls: 3, slots: 4, failed: 1 })).toEqual([]);
  });

  test("begins anew where a replica stood by and led again", () => {
    const scrapes = [
      { life: "r1", fromMs: 0, untilMs: 10, accounts: [] },
      { life: "r1", fromMs: 1_500, untilMs: 1_510, accounts: [{ ...account, polls: 1, slots: 2 }] },
      { life: "r1", fromMs: 1_700, untilMs: 1_710, accounts: [] },
      { life: "r1", fromMs: 2_500, untilMs: 2_510, accounts: [{ ...account, polls: 1, slots: 2 }] },
    ];
    expect(scrapeFaults(seen, scrapes)).toEqual([]);
    expect(scrapeFaults(requests("r1", [1_000, 1_800, 2_000]), scrapes)).toHaveLength(1);
    const withoutTheGap = scrapes.filter(({ fromMs }) => fromMs !== 1_700);
    expect(scrapeFaults(seen, withoutTheGap)).toHaveLength(1);
  });

  test("holds a life's log against all that was seen of it", () => {
    const faults = (ok: number, failed: number, isCutShort: boolean): readonly string[] =>
      logFaults(seen, [{ life: "r1", isCutShort, polls: [{ upstream: "email", ok, failed }] }]);
    expect(faults(2, 0, false)).toEqual([]);
    expect(faults(1, 1, false)).toEqual([]);
    expect(faults(1, 0, false)).toHaveLength(1);
    expect(faults(1, 0, true)).toEqual([]);
    expect(faults(3, 0, true)).toHaveLength(1);
    expect(logFaults(seen, [{ life: "r1", isCutShort: false, polls: [] }])).toHaveLength(1);
    expect(logFaults(seen, [{ life: "r1", isCutShort: true, polls: [] }])).toEqual([]);
  });
});
