import { expect, test } from "vitest";
import type { Advice } from "../../../src/core/advice/advice.ts";
import { SharedLedger } from "../../../src/engine/fleet/shared-ledger.ts";
import { sampleFleet } from "../../support/ledger-worlds.ts";
import { sampleAdvice, sampleBudget, sampleConfig, sampleUpstream } from "../../support/samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";
import { VirtualRedis, VirtualStore } from "../../support/virtual/redis.ts";

const CONFIG = sampleConfig({
  budgets: [sampleBudget({ share: 1, rates: [{ requests: 600, perMs: 10_000, label: "10s" }] })],
  upstreams: [sampleUpstream({ timeoutMs: 1_000 })],
});
const SPEAKS = sampleAdvice({ remaining: { requests: 500, limit: 600, resetMs: 5_000 } });

/** Replicas of one fleet; past the cold start. */
async function fleet(...names: readonly string[]): Promise<{
  readonly clock: VirtualClock;
  readonly replicas: readonly { readonly store: VirtualStore; readonly ledger: SharedLedger }[];
}> {
  const clock = new VirtualClock();
  const redis = new VirtualRedis(clock);
  const replicas = names.map((life) => {
    const store = new VirtualStore(redis, clock);
    const onBug = (error: unknown): never => {
      throw error;
    };
    return {
      store,
      ledger: new SharedLedger(CONFIG, { fleet: sampleFleet(), store, clock, life, onBug }),
    };
  });
  for (const { ledger } of replicas) await ledger.take(["api"]);
  await clock.advance(30_000);
  return { clock, replicas };
}

async function poll(clock: VirtualClock, ledger: SharedLedger, advice: Advice): Promise<void> {
  const decision = await ledger.take(["api"]);
  if (decision.kind !== "granted") throw new Error("no lease was granted");
  decision.lease.settle("answered");
  ledger.applyAdvice(["api"], advice);
  await clock.advance(20);
}

test("a poll is two calls to Redis, also where each answer speaks of limits", async () => {
  const { clock, replicas } = await fleet("a");
  const [one] = replicas;
  if (one === undefined) throw new Error("no replica");
  for (let polls = 0; polls < 10; polls += 1) await poll(clock, one.ledger, SPEAKS);
  expect(one.store.reports).toBe(10);
});

test("an answer that says nothing is not told, unless it ends a count of refusals", async () => {
  const { clock, replicas } = await fleet("a");
  const [one] = replicas;
  if (one === undefined) throw new Error("no replica");
  one.ledger.applyAdvice(["api"], sampleAdvice());
  await clock.advance(100);
  expect(one.store.reports).toBe(0);
  one.ledger.applyAdvice(["api"], sampleAdvice({ throttled: true }));
  await clock.advance(10_100);
  expect(one.store.reports).toBe(1);
  one.ledger.applyAdvice(["api"], sampleAdvice());
  await clock.advance(100);
  expect(one.store.reports).toBe(2);
  one.ledger.applyAdvice(["api"], sampleAdvice());
  await clock.advance(100);
  expect(one.store.reports).toBe(2);
});

test("what a replica heard while it was cut off undoes nothing that the others heard since, and goes in few calls", async () => {
  const { clock, replicas } = await fleet("cut off", "other");
  const [cutOff, other] = replicas;
  if (cutOff === undefined || other === undefined) throw new Error("no replica");
  cutOff.store.cut();
  for (let letters = 0; letters < 1_000; letters += 1) {
    cutOff.ledger.applyAdvice(["api"], SPEAKS);
    await clock.advance(100);
  }
  other.ledger.applyAdvice(
    ["api"],
    sampleAdvice({ remaining: { requests: 1, limit: 600, resetMs: 60_000 } }),
  );
  await clock.advance(1_000);
  const before = cutOff.store.reports;
  cutOff.store.mend();
  await clock.advance(10_000);
  expect(cutOff.store.reports - before).toBeLessThanOrEqual(5);
  await poll(clock, other.ledger, sampleAdvice());
  expect(other.ledger.state("api")?.advertisedRemaining).toBe(1);
  expect(other.ledger.restraint(["api"]).isYielding).toBe(true);
});
