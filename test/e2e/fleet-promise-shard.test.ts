import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Fleet } from "../support/fleet/fleet.ts";
import { monotonicMs } from "../support/fleet/monotonic.ts";
import type { Scene } from "../support/fleet/scene.ts";
import { REDIS_SERVER } from "../support/redis-server.ts";
import type { SeenRequest } from "../support/fleet/witness.ts";
import { expectKept, expectMissedAreCounted, handoversFrom, inFleet } from "./fleet-judgement.ts";

const TTL_MS = 3_000;
/** A session ends by itself after ttl, and this machine has other things to do as well. */
const PATIENCE_MS = 10_000;
/** The witness reads a request a little after it was sent. */
const ARRIVAL_MS = 500;

const SCENE: Scene = {
  mode: "shard",
  replicas: ["r1", "r2", "r3"],
  ttlMs: TTL_MS,
  periodMs: 1_000,
  windowMs: 4_000,
  timeoutMs: 1_000,
  lingerMs: 1_000,
  isScraped: true,
  // Of each 20 three are set aside, and four upstreams ask for 16 of the rest.
  budgets: {
    email: { requests: 20, upstreams: ["email-1", "email-2", "email-3", "email-4"] },
    router: { requests: 20, upstreams: ["router-1", "router-2", "router-3", "router-4"] },
    search: { requests: 20, upstreams: ["search-1", "search-2", "search-3", "search-4"] },
  },
};

async function inSettledFleet(live: (fleet: Fleet) => Promise<void>): Promise<void> {
  await inFleet(SCENE, async (fleet) => {
    await fleet.allPolled();
    await fleet.settled();
    await live(fleet);
  });
}

/** Whom the witness heard after this moment. */
async function livesSince(fleet: Fleet, sinceMs: number): Promise<ReadonlySet<string>> {
  return new Set((await seenSince(fleet, sinceMs)).map(({ life }) => life));
}

async function seenSince(fleet: Fleet, sinceMs: number): Promise<readonly SeenRequest[]> {
  return (await fleet.seen()).filter(({ atMs }) => atMs > sinceMs);
}

describe
  .skipIf(REDIS_SERVER === undefined)
  .concurrent("three replicas that share the upstreams among them", () => {
    it(
      "take over from one that is killed and from one that stands still, and each poll stays one",
      () =>
        inSettledFleet(async (fleet) => {
          const killed = fleet.replica("r1");
          await killed.kill();
          const killedAtMs = monotonicMs();
          await fleet.allPolled(killedAtMs);
          expect(monotonicMs() - killedAtMs).toBeLessThan(TTL_MS + PATIENCE_MS);
          const handovers = await handoversFrom(fleet, killed.life);
          expect(handovers.length).toBeGreaterThan(0);
          // The next scrape tells what was missed.
          await fleet.settled();
          expectMissedAreCounted(fleet, SCENE, handovers);

          const heir = await fleet.start("r1");
          await fleet.settled();
          await eventually(async () =>
            (await livesSince(fleet, killedAtMs)).has(heir.life) ? true : undefined,
          );

          const stopped = fleet.replica("r2");
          stopped.freeze();
          await sleep(TTL_MS + 2_000);
          await fleet.allPolled(monotonicMs(), ({ life }) => life !== stopped.life);
          stopped.thaw();
          await fleet.settled();
          await fleet.allPolled();

          // It says goodbye: nobody waits for its session to end.
          const leaving = fleet.replica("r3");
          expect(await leaving.stop()).toBe(0);
          await fleet.allPolled();
          await expectKept(fleet, SCENE, "killed, stopped, gone");
        }),
      90_000,
    );

    it(
      "go on over a Redis that comes back empty, and stop while there is none",
      () =>
        inSettledFleet(async (fleet) => {
          const movesBefore = (await handoversOfAll(fleet)).length;
          const emptiedAtMs = monotonicMs();
          await fleet.redis.restart();
          await sleep(TTL_MS);
          // The shared part refuses for a window; each one's own part goes on.
          expect((await livesSince(fleet, emptiedAtMs + 500)).size).toBe(3);
          await fleet.allPolled();
          await fleet.settled();
          // Nobody took what another one still polled.
          expect((await handoversOfAll(fleet)).length).toBe(movesBefore);

          for (const isKilled of [false, true]) {
            const goneAtMs = monotonicMs();
            if (isKilled) await fleet.redis.stop();
            else fleet.redis.halt();
            await sleep(2 * TTL_MS);
            const backAtMs = monotonicMs();
            if (isKilled) await fleet.redis.restart();
            else fleet.redis.resume();
            await fleet.allPolled(backAtMs);
            await fleet.settled();
            // Each one believes in its session for 0.8 of ttl after its last beat, and watches on for so long.
            const meanwhile = (await seenSince(fleet, goneAtMs)).filter(({ atMs }) => atMs < backAtMs);
            expect(meanwhile.length).toBeGreaterThan(0);
            expect(meanwhile.filter(({ atMs }) => atMs > goneAtMs + TTL_MS + ARRIVAL_MS)).toEqual([]);
          }
          await expectKept(fleet, SCENE, "Redis emptied, stopped, killed");
        }),
      90_000,
    );

    it(
      "take over from the one that is cut off from Redis, which has stopped before",
      () =>
        inSettledFleet(async (fleet) => {
          for (const [name, how] of [
            ["r1", "drop"],
            ["r2", "reset"],
          ] as const) {
            const { life } = fleet.replica(name);
            const cutAtMs = monotonicMs();
            fleet.wayOf(name).cut(how);
            await fleet.allPolled(cutAtMs + TTL_MS, (request) => request.life !== life);
            const mendedAtMs = monotonicMs();
            const ofCutOff = (await seenSince(fleet, cutAtMs + TTL_MS + ARRIVAL_MS)).filter(
              (request) => request.life === life,
            );
            expect(ofCutOff).toEqual([]);
            fleet.wayOf(name).mend();
            await fleet.settled();
            await eventually(async () =>
              (await livesSince(fleet, mendedAtMs)).has(life) ? true : undefined,
            );
            await fleet.allPolled();
          }
          await expectKept(fleet, SCENE, "cut off");
        }),
      90_000,
    );
  });

async function handoversOfAll(fleet: Fleet): Promise<readonly unknown[]> {
  return (await Promise.all(fleet.lives.map(({ life }) => handoversFrom(fleet, life)))).flat();
}
