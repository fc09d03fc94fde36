import { describe, expect, test } from "vitest";
import type { FleetBoard } from "../../../src/core/fleet/board.ts";
import type { LedgerStore, SharedState, SharedWait } from "../../../src/core/fleet/ledger-store.ts";
import { SharedLedger } from "../../../src/engine/fleet/shared-ledger.ts";
import { sampleFleet } from "../../support/ledger-worlds.ts";
import { SmallReplica } from "../../support/fleet-world.ts";
import { sampleBudget, sampleConfig, sampleUpstream } from "../../support/samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

/** Whoever may write to the Redis of a fleet: what it answers must not decide how busy a replica is. */

const SECONDS = 10;
const ANSWERS_IN_MS = 1;
const FOREVER = new AbortController().signal;

describe("a Redis that always has more to tell", () => {
  test("is asked in short runs, not for ever", async () => {
    const clock = new VirtualClock();
    let beats = 0;
    const board: FleetBoard = {
      async beat() {
        beats += 1;
        await clock.sleep(ANSWERS_IN_MS);
        const moment = { serverMs: clock.now() + 1, epoch: "e" };
        const told = {
          opensInMs: 0,
          sessions: [],
          isWhole: false,
          changes: [],
          version: beats,
          hasMore: true,
        };
        return { ...moment, ...told, kind: "beat" };
      },
      claim: () => Promise.resolve({ kind: "away" }),
      release: () => Promise.resolve({ kind: "away" }),
      publish: () => Promise.resolve(true),
      published: () => Promise.resolve(new Map()),
    };
    const { membership } = new SmallReplica(clock, () => board, { name: "a" });
    membership.setUpstreams(["api"]);
    membership.start();
    await clock.advance(SECONDS * 1_000);
    expect(beats).toBeGreaterThan(20);
    expect(beats / SECONDS).toBeLessThan(50);
    await membership.close();
  });
});

const STATE: SharedState = {
  nowMs: 1,
  epoch: "run-1",
  coldMs: 0,
  pausedMs: 0,
  yieldMs: 0,
  advertisedLimit: undefined,
  advertisedRemaining: undefined,
  quotaUsed: 0,
  hasReported: true,
  freed: 0,
  refusals: 0,
  caps: [10],
  leases: [0],
  reserved: [0],
};

/** How often a second it is asked anything, by one budget that wants a lease all the time. */
async function asked(
  state: (calls: number) => Partial<SharedState>,
  waits: readonly SharedWait[],
): Promise<number> {
  const clock = new VirtualClock();
  let calls = 0;
  const answer = async (): Promise<SharedState> => {
    calls += 1;
    await clock.sleep(ANSWERS_IN_MS);
    return { ...STATE, nowMs: clock.now() + 1, ...state(calls) };
  };
  const store: LedgerStore = {
    take: async () => ({ kind: "answered", answer: { states: [await answer()], waits } }),
    report: async () => ({ kind: "answered", answer: await answer() }),
    look: async () => ({ kind: "answered", answer: await answer() }),
    reportUsage: async () => ({ kind: "answered", answer: await answer() }),
    takeSeat: () => Promise.resolve({ kind: "answered", answer: undefined }),
    leaveSeat: () => Promise.resolve({ kind: "answered", answer: undefined }),
    onBack() {},
  };
  const onBug = (error: unknown): never => {
    throw error;
  };
  const config = sampleConfig({
    budgets: [
      sampleBudget({
        quota: { requests: 1_000, perMs: 3_600_000, onExhaust: "refuse", pricePerRequest: undefined },
      }),
    ],
    upstreams: [sampleUpstream()],
  });
  const ledger = new SharedLedger(config, { fleet: sampleFleet(), store, clock, life: "life", onBug });
  let wake = new AbortController();
  ledger.onChange(() => wake.abort());
  void (async () => {
    for (;;) {
      wake = new AbortController();
      const decision = await ledger.take(["api"]);
      if (decision.kind === "granted") decision.lease.settle("answered");
      const untilMs = decision.kind === "wait" ? decision.untilMs : clock.now() + 1_000;
      await clock.sleep(untilMs - clock.now(), wake.signal);
    }
  })().catch(onBug);
  await clock.advance(SECONDS * 1_000);
  await Promise.race([ledger[Symbol.asyncDispose]?.(), clock.sleep(1, FOREVER)]);
  return calls / SECONDS;
}

describe("a Redis is not asked without a rest", () => {
  const waits = [{ budget: "api", waitMs: 0, cause: "budget" }] as const;

  test("that says: ask again at once", async () => {
    const perSecond = await asked(() => ({}), waits);
    expect(perSecond).toBeGreaterThan(10);
    expect(perSecond).toBeLessThan(120);
  });

  test("that says with each answer that much is free now", async () => {
    const long = waits.map((wait) => ({ ...wait, waitMs: 60_000 }));
    expect(await asked((calls) => ({ freed: calls }), long)).toBeLessThan(120);
  });

  test("that never heard of our usage, however often it is told", async () => {
    expect(await asked(() => ({ hasReported: false }), [])).toBeLessThan(20);
  });

  test("whose clock is set forward with each answer", async () => {
    expect(await asked((calls) => ({ nowMs: calls * 1_000_000 }), [])).toBeLessThan(20);
  });
});
