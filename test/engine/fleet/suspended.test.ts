import { expect, test } from "vitest";
import { LocalLedger } from "../../../src/core/budget/local-ledger.ts";
import type { Ledger } from "../../../src/core/budget/ledger.ts";
import { SharedLedger } from "../../../src/engine/fleet/shared-ledger.ts";
import { sampleFleet } from "../../support/ledger-worlds.ts";
import { sampleBudget, sampleConfig, sampleUpstream } from "../../support/samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";
import { VirtualRedis, VirtualStore } from "../../support/virtual/redis.ts";

const CONFIG = sampleConfig({
  budgets: [sampleBudget({ share: 1, rates: [{ requests: 20, perMs: 10_000, label: "10s" }] })],
  upstreams: [sampleUpstream({ timeoutMs: 1_000 })],
});
const SLEPT_MS = 600_000;

function fleet(reserve: number): {
  readonly clock: VirtualClock;
  readonly store: VirtualStore;
  readonly ledger: SharedLedger;
} {
  const clock = new VirtualClock();
  const store = new VirtualStore(new VirtualRedis(clock), clock);
  const onBug = (error: unknown): never => {
    throw error;
  };
  const parts = { fleet: sampleFleet({ reserve }), store, clock, life: "a", onBug };
  return { clock, store, ledger: new SharedLedger(CONFIG, parts) };
}

async function isUsableAfterSleep(ledger: Ledger, clock: VirtualClock, sleptMs: number): Promise<boolean> {
  const decision = await ledger.take(["api"]);
  if (decision.kind !== "granted") throw new Error("no lease was granted");
  expect(decision.lease.isUsable()).toBe(true);
  clock.stepWall(sleptMs);
  return decision.lease.isUsable();
}

test("a shared lease of before the machine was suspended is not used: others no longer count it", async () => {
  const { clock, ledger } = fleet(0);
  await ledger.take(["api"]);
  await clock.advance(30_000);
  expect(await isUsableAfterSleep(ledger, clock, SLEPT_MS)).toBe(false);
});

test("a seat that somebody else may have by now is not used, and is asked for again at once", async () => {
  const { clock, store, ledger } = fleet(0.5);
  await ledger.take(["api"]);
  await clock.advance(30_000);
  store.cut();
  expect((await untilUnreachable(ledger, clock)).kind).toBe("granted");
  expect(await isUsableAfterSleep(ledger, clock, 25 * 3_600_000)).toBe(false);
  store.mend();
  await clock.advance(30_000);
  store.cut();
  expect((await untilUnreachable(ledger, clock)).kind).toBe("granted");
});

/** Its first question is in vain; then it is on its own. */
async function untilUnreachable(
  ledger: SharedLedger,
  clock: VirtualClock,
): Promise<{ readonly kind: string }> {
  const asked = ledger.take(["api"]);
  await clock.advance(1_000);
  const decision = await asked;
  await clock.advance(1_000);
  return decision;
}

test("a single process goes on with its leases: while the machine was suspended they were only held for longer", async () => {
  const clock = new VirtualClock();
  const ledger = new LocalLedger(CONFIG, clock);
  await clock.advance(30_000);
  expect(await isUsableAfterSleep(ledger, clock, SLEPT_MS)).toBe(true);
});

test("what a replica sends after the machine was suspended is counted in its own hour, not in an earlier one", async () => {
  const { clock, ledger } = fleet(0);
  await clock.advance(60_000);
  clock.stepWall(20 * 24 * 3_600_000);
  const fromHour = Math.floor(clock.wallNow() / 3_600_000);
  for (let minute = 0; minute < 20; minute += 1) {
    const asked = ledger.take(["api"]);
    await clock.advance(60_000);
    const decision = await asked;
    if (decision.kind === "granted") decision.lease.settle("answered");
  }
  const sentIn = [...ledger.quotas.of("api").buckets].filter(([, requests]) => requests > 0);
  expect(sentIn.length).toBeGreaterThan(0);
  for (const [hour] of sentIn) expect(hour).toBeGreaterThanOrEqual(fromHour);
});
