import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Fleet } from "../../support/fleet/fleet.ts";
import { monotonicMs } from "../../support/fleet/monotonic.ts";
import type { Scene } from "../../support/fleet/scene.ts";
import { REDIS_SERVER } from "../../support/processes/redis-server.ts";
import { expectKept, inFleet } from "./judgement.ts";

const TTL_MS = 5_000;
/** So long that whatever was set aside is used: a slot in each period, and some for a busy machine. */
const AWAY_MS = 8_000;
/** What was granted before may still be on its way. */
const ARRIVAL_MS = 2_000;

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

/** Waits until every living replica has polled everything, since now. */
async function allPolledByAll(fleet: Fleet): Promise<void> {
  const sinceMs = monotonicMs();
  for (const { life, hasEnded } of fleet.current) {
    if (!hasEnded) await fleet.allPolled(sinceMs, (request) => request.life === life);
  }
}

/** Who used this budget in between. */
async function livesBetween(
  fleet: Fleet,
  budget: string,
  fromMs: number,
  untilMs: number,
): Promise<ReadonlySet<string>> {
  const seen = await fleet.seen();
  return new Set(
    seen
      .filter((request) => request.budget === budget && request.atMs > fromMs && request.atMs < untilMs)
      .map(({ life }) => life),
  );
}

function skippedForWantOfRedis(fleet: Fleet): readonly number[] {
  return fleet.current.map((replica) => replica.skipped("ledger", { upstream: "router-1" }));
}

describe.skipIf(REDIS_SERVER === undefined)("three replicas that all poll all upstreams", () => {
  it(
    "watch on from what was set aside while Redis is away, and never are too many together",
    async () =>
      inFleet(SCENE, async (fleet) => {
        await allPolledByAll(fleet);
        for (const isKilled of [false, true]) {
          const goneAtMs = monotonicMs();
          const skippedBefore = skippedForWantOfRedis(fleet);
          if (isKilled) await fleet.redis.stop();
          else fleet.redis.halt();
          await sleep(AWAY_MS + TTL_MS);
          const email = await livesBetween(fleet, "email", goneAtMs + ARRIVAL_MS, monotonicMs());
          expect(email.size).toBe(SCENE.replicas.length);
          // Nothing of this one was set aside: when its session has ended nobody may poll, and each says so.
          const router = await livesBetween(fleet, "router", goneAtMs + TTL_MS + ARRIVAL_MS, monotonicMs());
          expect([...router]).toEqual([]);
          skippedForWantOfRedis(fleet).forEach((skipped, index) => {
            expect(skipped).toBeGreaterThan(skippedBefore[index] ?? 0);
          });
          if (isKilled) await fleet.redis.restart();
          else fleet.redis.resume();
          await allPolledByAll(fleet);
        }
        await fleet.replica("r1").kill();
        await fleet.start("r1");
        fleet.replica("r2").freeze();
        fleet.wayOf("r3").cut("drop");
        await sleep(TTL_MS);
        fleet.replica("r2").thaw();
        fleet.wayOf("r3").mend();
        await fleet.redis.restart();
        fleet.wayOf("r1").cut("reset");
        await sleep(ARRIVAL_MS);
        fleet.wayOf("r1").mend();
        await allPolledByAll(fleet);
        await expectKept(fleet, SCENE, "everywhere");
      }),
    120_000,
  );
});
