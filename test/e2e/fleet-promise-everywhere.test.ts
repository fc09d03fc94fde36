import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Fleet } from "../support/fleet/fleet.ts";
import { monotonicMs } from "../support/fleet/monotonic.ts";
import type { Scene } from "../support/fleet/scene.ts";
import { REDIS_SERVER } from "../support/redis-server.ts";
import { expectKept, inFleet } from "./fleet-judgement.ts";

const TTL_MS = 3_000;

const SCENE: Scene = {
  mode: "everywhere",
  replicas: ["r1", "r2", "r3"],
  ttlMs: TTL_MS,
  periodMs: 2_000,
  windowMs: 4_000,
  timeoutMs: 1_000,
  lingerMs: 1_000,
  isScraped: true,
  budgets: {
    // Three replicas poll two upstreams twice in each window: 12 of 17, and one is set aside for each replica.
    email: { requests: 20, upstreams: ["email-1", "email-2"] },
    // A fifth of 12 is too little to divide by three: all of it is shared.
    router: { requests: 12, upstreams: ["router-1"] },
  },
};

/** Waits until every living replica has polled everything, since then. */
async function allPolledByAll(fleet: Fleet, sinceMs: number = monotonicMs()): Promise<void> {
  for (const { life, hasEnded } of fleet.current) {
    if (!hasEnded) await fleet.allPolled(sinceMs, (request) => request.life === life);
  }
}

async function requestsBetween(
  fleet: Fleet,
  budget: string,
  fromMs: number,
  untilMs: number,
): Promise<ReadonlyMap<string, number>> {
  const requests = (await fleet.seen()).filter(
    (request) => request.budget === budget && request.atMs > fromMs && request.atMs < untilMs,
  );
  return new Map([...Map.groupBy(requests, ({ life }) => life)].map(([life, some]) => [life, some.length]));
}

describe.skipIf(REDIS_SERVER === undefined).concurrent("three replicas that all poll all upstreams", () => {
  it(
    "watch on from what was set aside while Redis is away, and where nothing was, say so",
    () =>
      inFleet(SCENE, async (fleet) => {
        await allPolledByAll(fleet);
        for (const isKilled of [false, true]) {
          const skippedBefore = fleet.current.map((replica) =>
            replica.skipped("ledger", { upstream: "router-1" }),
          );
          const goneAtMs = monotonicMs();
          if (isKilled) await fleet.redis.stop();
          else fleet.redis.halt();
          await sleep(3 * TTL_MS);
          const backAtMs = monotonicMs();
          if (isKilled) await fleet.redis.restart();
          else fleet.redis.resume();
          const email = await requestsBetween(fleet, "email", goneAtMs + 1_000, backAtMs);
          expect(email.size).toBe(SCENE.replicas.length);
          // What was granted before may still be on its way for the moment that a call may take.
          const router = await requestsBetween(fleet, "router", goneAtMs + 1_000, backAtMs);
          expect([...router.keys()]).toEqual([]);
          fleet.current.forEach((replica, index) => {
            expect(replica.skipped("ledger", { upstream: "router-1" })).toBeGreaterThan(
              skippedBefore[index] ?? 0,
            );
          });
          await allPolledByAll(fleet, backAtMs);
        }
        await expectKept(fleet, SCENE, "everywhere, Redis stopped and killed");
      }),
    90_000,
  );

  it(
    "keep within the limit together while they are killed, stopped and cut off",
    () =>
      inFleet(SCENE, async (fleet) => {
        await allPolledByAll(fleet);
        await fleet.replica("r1").kill();
        await fleet.start("r1");
        fleet.replica("r2").freeze();
        fleet.wayOf("r3").cut("drop");
        const cutAtMs = monotonicMs();
        await sleep(5_000);
        expect((await requestsBetween(fleet, "email", cutAtMs + 1_000, monotonicMs())).size).toBeGreaterThan(
          0,
        );
        fleet.replica("r2").thaw();
        fleet.wayOf("r3").mend();
        await fleet.redis.restart();
        await allPolledByAll(fleet);
        fleet.wayOf("r1").cut("reset");
        await sleep(TTL_MS);
        fleet.wayOf("r1").mend();
        await allPolledByAll(fleet);
        await expectKept(fleet, SCENE, "everywhere, killed, stopped and cut off");
      }),
    90_000,
  );
});
