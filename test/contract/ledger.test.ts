import { describe, expect, test } from "vitest";

import type { Budget, Config } from "../../src/kernel/config/config.ts";
import type { Lease } from "../../src/kernel/budget/ledger.ts";
import { leaderWorld, type LedgerWorld, type OpenWorld, localWorld } from "../support/ledger-worlds.ts";
import { charge } from "../support/test-ledger.ts";
import { sampleBudget, sampleConfig, sampleUpstream } from "../support/kernel-samples.ts";
import { sampleAnswerHints } from "../support/samples.ts";

/** What every ledger promises, whoever keeps it. */
const LEDGERS: readonly (readonly [string, OpenWorld])[] = [
  ["a single process", localWorld],
  ["the leader of a fleet", leaderWorld],
];

const RATES = [{ requests: 4, perMs: 10_000, label: "10s" }];

function configOf(...budgets: readonly Partial<Budget>[]): Config {
  return sampleConfig({
    budgets: budgets.map((changes) => sampleBudget({ rates: RATES, lingerMs: 1_000, ...changes })),
    upstreams: budgets.map(({ name = "api", price }) =>
      sampleUpstream({ name, budgets: [name], timeoutMs: 2_000, price }),
    ),
  });
}

/** Past every cold start. */
async function warmWorld(openWorld: OpenWorld, budgets: readonly Partial<Budget>[]): Promise<LedgerWorld> {
  const world = await openWorld(configOf(...budgets));
  world.ledger.take(["api"]);
  await world.advance(40_000);
  return world;
}

/** When told to wait, waits until then, and asks again. */
function takeInTurn(world: LedgerWorld, ...budgets: readonly string[]): Promise<Lease> {
  return takeFor(world, 0, budgets.length === 0 ? ["api"] : budgets);
}

async function takeFor(
  world: LedgerWorld,
  mostCost: number,
  budgets = ["api"] as readonly string[],
): Promise<Lease> {
  for (let asked = 0; asked < 5; asked += 1) {
    const decision = world.ledger.take(budgets, mostCost);
    if (decision.kind === "granted") return decision.lease;
    await world.advance(decision.untilMs - world.clock.now());
  }
  throw new Error("it was told when to ask again, and refused then");
}

describe.each(LEDGERS)("the ledger of %s", (_name, openWorld) => {
  test("grants the cap in one window, a pace gap apart, and not one more", async () => {
    await using world = await warmWorld(openWorld, [{}]);
    const takenAtMs: number[] = [];
    for (let turn = 0; turn < 9; turn += 1) {
      const lease = await takeInTurn(world);
      takenAtMs.push(world.clock.now());
      lease.settle("answered");
      await world.advance(1);
    }
    const apart = (turns: number): number =>
      Math.min(...takenAtMs.slice(turns).map((atMs, index) => atMs - (takenAtMs[index] ?? 0)));
    expect(apart(1)).toBeGreaterThanOrEqual(2_500);
    expect(apart(4)).toBeGreaterThanOrEqual(10_000);
    expect((takenAtMs[8] ?? 0) - (takenAtMs[0] ?? 0)).toBeLessThan(20_500);
  });

  test("holds a request that was answered for a window, and one that was not for the linger too", async () => {
    await using world = await warmWorld(openWorld, [
      { rates: [{ requests: 1, perMs: 10_000, label: "10s" }] },
    ]);
    (await takeInTurn(world)).settle("answered");
    const answeredMs = world.clock.now();
    (await takeInTurn(world)).settle("unanswered");
    const brokenMs = world.clock.now();
    expect(brokenMs - answeredMs).toBeGreaterThanOrEqual(10_010);
    expect(brokenMs - answeredMs).toBeLessThan(10_200);
    await takeInTurn(world);
    expect(world.clock.now() - brokenMs).toBeGreaterThanOrEqual(11_010);
    expect(world.clock.now() - brokenMs).toBeLessThan(11_200);
  });

  test("holds a request that is still on its way for as long as it takes, within its timeout", async () => {
    await using world = await warmWorld(openWorld, [
      { rates: [{ requests: 1, perMs: 10_000, label: "10s" }] },
    ]);
    const lease = await takeInTurn(world);
    await world.advance(2_000);
    lease.settle("answered");
    const settledMs = world.clock.now();
    await takeInTurn(world);
    expect(world.clock.now() - settledMs).toBeGreaterThanOrEqual(10_010);
  });

  test("gives back at once what was not sent, and says so", async () => {
    await using world = await warmWorld(openWorld, [
      { rates: [{ requests: 2, perMs: 10_000, label: "10s" }] },
    ]);
    (await takeInTurn(world)).settle("answered");
    const unsent = await takeInTurn(world);
    const told: string[] = [];
    world.ledger.onChange((budget) => told.push(budget));
    unsent.settle("unsent");
    await world.advance(10);
    expect(told).toContain("api");
    await world.advance(5_000);
    expect(world.ledger.take(["api"]).kind).toBe("granted");
  });

  test("is not confused by a lease that is settled twice", async () => {
    await using world = await warmWorld(openWorld, [
      { rates: [{ requests: 1, perMs: 10_000, label: "10s" }] },
    ]);
    const lease = await takeInTurn(world);
    lease.settle("answered");
    lease.settle("unsent");
    await world.advance(100);
    expect(world.ledger.take(["api"]).kind).toBe("wait");
  });

  test("a lease is usable when it was just given", async () => {
    await using world = await warmWorld(openWorld, [{}]);
    expect((await takeInTurn(world)).isUsable()).toBe(true);
  });

  test("is silent for as long as an upstream asks for", async () => {
    await using world = await warmWorld(openWorld, [{}]);
    (await takeInTurn(world)).settle("answered");
    const pause = { scope: "budget", forMs: 30_000, source: "retry_after" } as const;
    world.ledger.hints.heard(["api"], sampleAnswerHints({ throttled: true, pause }));
    const untilMs = world.clock.now() + 30_000;
    expect(world.ledger.take(["api"])).toEqual({
      kind: "wait",
      untilMs,
      cause: "backoff",
      budget: "api",
    });
    expect(world.ledger.hints.pausedUntilMs(["api"])).toBe(untilMs);
    expect(world.ledger.hints.statusOf("api")?.pausedUntilWallMs).toBe(world.clock.wallNow() + 30_000);
    await world.advance(30_200);
    expect(world.ledger.take(["api"]).kind).toBe("granted");
  });

  test("is silent no longer when the operator says so, and still holds its leases", async () => {
    await using world = await warmWorld(openWorld, [
      { rates: [{ requests: 1, perMs: 10_000, label: "10s" }] },
    ]);
    (await takeInTurn(world)).settle("answered");
    const pause = { scope: "budget", forMs: 3_000_000, source: "credit_spent" } as const;
    world.ledger.hints.heard(["api"], sampleAnswerHints({ throttled: true, pause }));
    await world.advance(100);
    expect(world.ledger.take(["api"])).toMatchObject({ kind: "wait", cause: "backoff" });
    expect(world.ledger.hints.resume("other")).toBe(false);
    expect(world.ledger.hints.resume("api")).toBe(true);
    await world.advance(100);
    expect(world.ledger.take(["api"])).toMatchObject({ kind: "wait", cause: "budget" });
    await world.advance(11_000);
    expect(world.ledger.take(["api"]).kind).toBe("granted");
  });

  test("backs off by itself where an upstream refuses without a hint, twice as long the second time", async () => {
    await using world = await warmWorld(openWorld, [{}]);
    world.ledger.hints.heard(["api"], sampleAnswerHints({ throttled: true }));
    expect(world.ledger.take(["api"])).toMatchObject({
      untilMs: world.clock.now() + 10_000,
      cause: "backoff",
    });
    await world.advance(10_001);
    world.ledger.hints.heard(["api"], sampleAnswerHints({ throttled: true }));
    await world.advance(10);
    expect(world.ledger.hints.pausedUntilMs(["api"])).toBeGreaterThanOrEqual(world.clock.now() + 19_980);
  });

  test("keeps to a lower limit that an upstream speaks of, until a window after it did", async () => {
    await using world = await warmWorld(openWorld, [{ share: 0.5 }]);
    world.ledger.hints.heard(["api"], sampleAnswerHints({ limits: [{ requests: 2, perMs: 10_000 }] }));
    await world.advance(10);
    (await takeInTurn(world)).settle("answered");
    expect(world.ledger.inner.ratesOf("api")?.[0]).toMatchObject({ limit: 4, cap: 1 });
    const decision = world.ledger.take(["api"]);
    expect(decision).toMatchObject({ kind: "wait", cause: "budget" });
    await world.advance(10_500);
    await takeInTurn(world);
    await world.advance(1);
    expect(world.ledger.inner.ratesOf("api")?.[0]).toMatchObject({ cap: 2 });
  });

  test("makes way for production where little is left", async () => {
    await using world = await warmWorld(openWorld, [{}]);
    world.ledger.hints.heard(
      ["api"],
      sampleAnswerHints({ remaining: { requests: 1, limit: 1_000, resetMs: 5_000 } }),
    );
    await world.advance(10);
    expect(world.ledger.hints.yieldingOf(["api"], world.clock.now())).toBe("api");
    expect(world.ledger.hints.statusOf("api")).toMatchObject({
      advertisedLimit: 1_000,
      advertisedRemaining: 1,
    });
    await world.advance(5_000);
    expect(world.ledger.hints.yieldingOf(["api"], world.clock.now())).toBeUndefined();
  });

  const quota = { most: 2, perMs: 7_200_000, onExhaust: "stop" } as const;
  test("stops at its own quota, and does not count what was not sent", async () => {
    await using world = await warmWorld(openWorld, [{ quota }]);
    (await takeInTurn(world)).settle("answered");
    (await takeInTurn(world)).settle("unsent");
    (await takeInTurn(world)).settle("answered");
    await world.advance(5_000);
    expect(world.ledger.quotas.of("api", "requests")?.used).toBe(2);
    expect(world.ledger.isQuotaSpent(["api"])).toBe(true);
    expect(world.ledger.take(["api"])).toMatchObject({ kind: "wait", cause: "quota" });
    await world.advance(3 * 3_600_000);
    (await takeInTurn(world)).settle("answered");
  });

  const price = { currency: "EUR", parts: [{ kind: "request", units: 100 }] } as const;
  const spend = { most: 400, perMs: 7_200_000, onExhaust: "stop" } as const;
  test("reserves the most that a request may cost, and charges what it did; nothing for one that was not sent", async () => {
    await using world = await warmWorld(openWorld, [{ price, spend }]);
    const used = (): number | undefined => world.ledger.quotas.of("api", "money")?.used;
    const cheap = await takeFor(world, 100);
    expect(used()).toBe(100);
    cheap.settle("answered");
    expect(used()).toBe(100);
    charge(cheap, 30);
    charge(cheap, 0);
    expect(used()).toBe(30);
    (await takeFor(world, 100)).settle("unsent");
    expect(used()).toBe(30);
    const unanswered = await takeFor(world, 100);
    unanswered.settle("unanswered");
    charge(unanswered, 100);
    expect(used()).toBe(130);
  });

  test("sends nothing that what is left may not pay, though something cheaper, and what is free in any case", async () => {
    await using world = await warmWorld(openWorld, [{ price, spend }]);
    for (const cost of [100, 100, 100, 40]) {
      const lease = await takeFor(world, 100);
      lease.settle("answered");
      charge(lease, cost);
    }
    expect(world.ledger.take(["api"], 100)).toMatchObject({
      kind: "wait",
      cause: "quota",
      budget: "api",
    });
    expect(world.ledger.isQuotaSpent(["api"], 100)).toBe(true);
    expect(world.ledger.isQuotaSpent(["api"], 60)).toBe(false);
    const dear = await takeFor(world, 60);
    dear.settle("answered");
    charge(dear, 500);
    expect(world.ledger.quotas.of("api", "money")?.used).toBe(840);
    await world.advance(5_000);
    expect(world.ledger.take(["api"], 1)).toMatchObject({ kind: "wait", cause: "quota" });
    expect(world.ledger.take(["api"]).kind).toBe("granted");
    await world.advance(3 * 3_600_000);
    (await takeFor(world, 100)).settle("answered");
  });

  test("gives a lease of each of several budgets, or of none", async () => {
    const rates = [{ requests: 1, perMs: 10_000, label: "10s" }];
    await using world = await warmWorld(openWorld, [{}, { name: "model", rates }]);
    const held = (): readonly (number | undefined)[] =>
      ["api", "model"].map((budget) => world.ledger.inner.ratesOf(budget)?.[0]?.leases);
    const lease = await takeInTurn(world, "api", "model");
    expect(lease.isUsable()).toBe(true);
    lease.settle("answered");
    await world.advance(3_000);
    expect(held()).toEqual([1, 1]);
    // The account has room; the model has not.
    const untilMs = world.ledger.take(["api", "model"]);
    expect(untilMs).toMatchObject({ kind: "wait", cause: "budget", budget: "model" });
    await world.advance(10);
    expect(held()).toEqual([1, 1]);
    expect(world.ledger.take(["api"]).kind).toBe("granted");
  });

  test("gives all of them back where one request of several budgets was not sent", async () => {
    const rates = [{ requests: 1, perMs: 10_000, label: "10s" }];
    const quota = { most: 1, perMs: 86_400_000, onExhaust: "stop" } as const;
    await using world = await warmWorld(openWorld, [{}, { name: "model", rates, quota }]);
    const told = new Set<string>();
    world.ledger.onChange((budget) => told.add(budget));
    (await takeInTurn(world, "api", "model")).settle("unsent");
    await world.advance(10);
    expect([...told].sort()).toEqual(["api", "model"]);
    expect(world.ledger.quotas.of("model", "requests")?.used).toBe(0);
    expect(world.ledger.inner.ratesOf("model")).toMatchObject([{ leases: 0 }]);
    await world.advance(10_000);
    (await takeInTurn(world, "model", "api")).settle("answered");
    await world.advance(20_000);
    expect(world.ledger.take(["api", "model"])).toMatchObject({ cause: "quota", budget: "model" });
    expect(world.ledger.isQuotaSpent(["api", "model"])).toBe(true);
    expect(world.ledger.isQuotaSpent(["api"])).toBe(false);
    expect(world.ledger.inner.paceGapMs(["api", "model"])).toBe(10_000);
    expect(world.ledger.inner.paceGapMs(["api"])).toBe(2_500);
  });

  test("pauses and lowers the most specific budget of the upstream, and the one whose limit was told", async () => {
    const rates = [{ requests: 2, perMs: 10_000, label: "10s" }];
    await using world = await warmWorld(openWorld, [{}, { name: "model", rates }, { name: "other" }]);
    const both = ["api", "model"];
    world.ledger.hints.heard(both, sampleAnswerHints({ limits: [{ requests: 2, perMs: 10_000 }] }));
    await world.advance(10);
    const caps = (): readonly unknown[] => both.map((budget) => world.ledger.inner.ratesOf(budget)?.[0]?.cap);
    expect(caps()).toEqual([4, 2]);
    world.ledger.hints.heard(both, sampleAnswerHints({ limits: [{ requests: 1, perMs: 10_000 }] }));
    await world.advance(10);
    world.ledger.take(both);
    expect(caps()).toEqual([1, 2]);
    const pause = { scope: "budget", forMs: 30_000, source: "retry_after" } as const;
    world.ledger.hints.heard(both, sampleAnswerHints({ throttled: true, pause }));
    // As many draw on each, so the first of them is meant.
    expect(world.ledger.take(["api"])).toMatchObject({ cause: "backoff", budget: "api" });
    expect(world.ledger.take(["model"])).not.toMatchObject({ cause: "backoff" });
    expect(world.ledger.take(["other"]).kind).toBe("granted");
  });

  test("shows how many leases are held", async () => {
    await using world = await warmWorld(openWorld, [{}]);
    const first = await takeInTurn(world);
    const second = await takeInTurn(world);
    first.settle("answered");
    second.settle("answered");
    await world.advance(10);
    expect(world.ledger.inner.ratesOf("api")).toEqual([{ label: "10s", limit: 4, cap: 4, leases: 2 }]);
    await world.advance(40_000);
    expect(world.ledger.inner.ratesOf("api")?.[0]?.leases).toBe(0);
  });

  test("keeps what is held over a reload, and lets a new budget wait until its past is forgotten", async () => {
    await using world = await warmWorld(openWorld, [{}]);
    (await takeInTurn(world)).settle("answered");
    await world.advance(10);
    world.ledger.change(configOf({ rates: [{ requests: 1, perMs: 10_000, label: "10s" }] }, { name: "new" }));
    expect(world.ledger.take(["api"]).kind).toBe("wait");
    const decision = world.ledger.take(["new"]);
    expect(decision.kind).toBe("wait");
    await world.advance(12_000);
    expect(world.ledger.take(["new"]).kind).toBe("wait");
    await world.advance(40_000);
    expect(world.ledger.take(["new"]).kind).toBe("granted");
  });

  test("lends nothing from a budget that is not there", async () => {
    await using world = await warmWorld(openWorld, [{}]);
    const taken = await (async () => world.ledger.take(["none"]))().catch(() => ({ kind: "refused" }));
    expect(taken.kind).not.toBe("granted");
    expect(world.ledger.hints.statusOf("none")).toBeUndefined();
  });
});
