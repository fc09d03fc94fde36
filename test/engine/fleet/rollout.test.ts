import { expect, test } from "vitest";

import type { Fleet } from "../../../src/core/config/config.ts";
import { SharedLedger } from "../../../src/engine/fleet/shared-ledger.ts";
import { sampleFleet } from "../../support/ledger-worlds.ts";
import { sampleBudget, sampleConfig, sampleUpstream } from "../../support/samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";
import { VirtualRedis, VirtualStore } from "../../support/virtual/redis.ts";

const WINDOW_MS = 10_000;
const LIMIT = 12;

type Replica = { readonly ledger: SharedLedger; readonly store: VirtualStore };

function replica(redis: VirtualRedis, clock: VirtualClock, fleet: Partial<Fleet>): Replica {
  const store = new VirtualStore(redis, clock);
  const onBug = (error: unknown): never => {
    throw error;
  };
  const rates = [{ requests: LIMIT, perMs: WINDOW_MS, label: "10s" }];
  const config = sampleConfig({
    budgets: [sampleBudget({ rates })],
    upstreams: [sampleUpstream({ timeoutMs: 500 })],
  });
  const parts = { fleet: sampleFleet(fleet), store, clock, life: fleet.name ?? "", onBug };
  return { store, ledger: new SharedLedger(config, parts) };
}

/** Everybody sends whenever he may. Answers the most that were counted in one window. */
async function mostWithinAWindow(
  clock: VirtualClock,
  replicas: readonly Replica[],
  forMs: number,
): Promise<number> {
  const sentAtMs: number[] = [];
  const untilMs = clock.now() + forMs;
  while (clock.now() < untilMs) {
    for (const { ledger } of replicas) {
      void Promise.resolve(ledger.take(["api"])).then((decision) => {
        if (decision.kind === "wait") return;
        if (!decision.lease.isUsable()) return decision.lease.settle("unsent");
        sentAtMs.push(clock.now());
        decision.lease.settle("answered");
      });
    }
    await clock.advance(100);
  }
  return Math.max(
    0,
    ...sentAtMs.map((fromMs) => sentAtMs.filter((ms) => ms >= fromMs && ms < fromMs + WINDOW_MS).length),
  );
}

test.each([
  ["without a reserve", { replicas: 2, reserve: 0 }],
  ["with more replicas", { replicas: 6, reserve: 0.5 }],
])("a config %s does not spend what a replica of the old one holds in reserve", async (_what, changed) => {
  const clock = new VirtualClock();
  const redis = new VirtualRedis(clock);
  const old = ["a", "b"].map((name) => replica(redis, clock, { name, replicas: 2, reserve: 0.5 }));
  await clock.advance(60_000);
  const replaced = replica(redis, clock, { name: "c", ...changed });
  await clock.advance(60_000);
  for (const { store } of old) store.cut();
  expect(await mostWithinAWindow(clock, [...old, replaced], 60_000)).toBeLessThanOrEqual(LIMIT);
  // The others cannot reach Redis to give their seats back.
  await replaced.ledger.close();
});

test("replicas that are replaced by others of new names leave the shared part as it was", async () => {
  const clock = new VirtualClock();
  const redis = new VirtualRedis(clock);
  const born = (name: string): Replica => replica(redis, clock, { name, replicas: 2, reserve: 0.5 });
  let replicas = ["a1", "b1"].map(born);
  await clock.advance(60_000);
  const shared = await mostWithinAWindow(clock, replicas, 60_000);
  for (let rollout = 2; rollout < 6; rollout += 1) {
    for (const { ledger } of replicas) await ledger.close();
    replicas = ["a", "b"].map((name) => born(`${name}${rollout}`));
    await clock.advance(60_000);
    expect(await mostWithinAWindow(clock, replicas, 60_000)).toBe(shared);
  }
  for (const { ledger } of replicas) await ledger.close();
});

test("the reserve of a replica that leaves is shared only when what was sent from it no longer counts", async () => {
  const clock = new VirtualClock();
  const redis = new VirtualRedis(clock);
  const leaving = replica(redis, clock, { name: "a", reserve: 0.5 });
  const staying = replica(redis, clock, { name: "b", reserve: 0 });
  const shared = async (): Promise<number | undefined> => {
    await staying.ledger.take(["api"]);
    return staying.ledger.state("api")?.rates[0]?.cap;
  };
  await clock.advance(60_000);
  expect(await shared()).toBe(LIMIT / 2);
  await leaving.ledger.close();
  await clock.advance(WINDOW_MS);
  expect(await shared()).toBe(LIMIT / 2);
  await clock.advance(WINDOW_MS);
  expect(await shared()).toBe(LIMIT);
  await staying.ledger.close();
});

test("what was held in reserve is shared again once every replica has the new config", async () => {
  const clock = new VirtualClock();
  const redis = new VirtualRedis(clock);
  const old = ["a", "b"].map((name) => replica(redis, clock, { name, replicas: 2, reserve: 0.5 }));
  await clock.advance(60_000);
  for (const { ledger } of old) await ledger.close();
  const replaced = ["a", "b"].map((name) => replica(redis, clock, { name, replicas: 2, reserve: 0 }));
  await clock.advance(60_000);
  expect(await mostWithinAWindow(clock, replaced, 60_000)).toBeGreaterThanOrEqual(LIMIT - 1);
  for (const { ledger } of replaced) await ledger.close();
});
