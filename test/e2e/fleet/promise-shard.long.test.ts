import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Fleet } from "../../support/fleet/fleet.ts";
import type { Handover } from "../../support/fleet/holder-judge.ts";
import { monotonicMs } from "../../support/fleet/monotonic.ts";
import type { Scene } from "../../support/fleet/scene.ts";
import { REDIS_SERVER } from "../../support/processes/redis-server.ts";
import type { SeenRequest } from "../../support/fleet/witness.ts";
import { expectKept, expectUnusedAreCounted, handoversFrom, inFleet } from "./judgement.ts";

const TTL_MS = 5_000;
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

async function seenSince(fleet: Fleet, sinceMs: number): Promise<readonly SeenRequest[]> {
  return (await fleet.seen()).filter(({ atMs }) => atMs > sinceMs);
}

/** The first time that each upstream changed hands after this moment. */
function firstHandovers(handovers: readonly Handover[], sinceMs: number): readonly Handover[] {
  const first = new Map<string, Handover>();
  for (const handover of handovers) {
    if (handover.firstMs > sinceMs && !first.has(handover.upstream)) first.set(handover.upstream, handover);
  }
  return [...first.values()];
}

/** Until the others have all, and the one has not sent anything since it had to stop. */
async function expectReplaced(fleet: Fleet, life: string, sinceMs: number): Promise<void> {
  await fleet.allPolled(sinceMs + TTL_MS, (request) => request.life !== life);
  const late = await seenSince(fleet, sinceMs + TTL_MS + ARRIVAL_MS);
  expect(late.filter((request) => request.life === life)).toEqual([]);
}

describe
  .skipIf(REDIS_SERVER === undefined)
  .concurrent("three replicas that share the upstreams among them", () => {
    it(
      "take over from one that is killed, stopped, cut off or gone, and no upstream is polled by two",
      async () =>
        inSettledFleet(async (fleet) => {
          const killed = fleet.replica("r1");
          await killed.kill();
          const killedAtMs = monotonicMs();
          await fleet.allPolled(killedAtMs);
          const handovers = firstHandovers(await handoversFrom(fleet, killed.life), killedAtMs);
          expect(handovers.length).toBeGreaterThan(0);
          expectUnusedAreCounted(fleet, SCENE, handovers);
          await fleet.start("r1");
          await fleet.settled();

          const stopped = fleet.replica("r2");
          stopped.freeze();
          const stoppedAtMs = monotonicMs();
          await fleet.allPolled(stoppedAtMs + TTL_MS, ({ life }) => life !== stopped.life);
          stopped.thaw();
          await fleet.settled();

          for (const [name, how] of [
            ["r3", "drop"],
            ["r2", "reset"],
          ] as const) {
            const cutAtMs = monotonicMs();
            fleet.wayOf(name).cut(how);
            await expectReplaced(fleet, fleet.replica(name).life, cutAtMs);
            fleet.wayOf(name).mend();
            await fleet.settled();
          }

          // It says goodbye: nobody waits for its session to end.
          expect(await fleet.replica("r3").stop()).toBe(0);
          await fleet.allPolled();
          await expectKept(fleet, SCENE, "killed, stopped, cut off, gone");
        }),
      120_000,
    );

    it(
      "go on over a Redis that comes back empty, and stop while there is none",
      async () =>
        inSettledFleet(async (fleet) => {
          await fleet.redis.restart();
          await fleet.allPolled();
          await fleet.settled();
          for (const isKilled of [false, true]) {
            const goneAtMs = monotonicMs();
            if (isKilled) await fleet.redis.stop();
            else fleet.redis.halt();
            await sleep(TTL_MS + 2_000);
            const backAtMs = monotonicMs();
            if (isKilled) await fleet.redis.restart();
            else fleet.redis.resume();
            // Each one believes in its session for 0.8 of ttl after its last beat, and watches on for so long.
            const meanwhile = (await seenSince(fleet, goneAtMs)).filter(({ atMs }) => atMs < backAtMs);
            expect(meanwhile.filter(({ atMs }) => atMs > goneAtMs + TTL_MS + ARRIVAL_MS)).toEqual([]);
            await fleet.allPolled(backAtMs);
            await fleet.settled();
          }
          await expectKept(fleet, SCENE, "Redis emptied, stopped, killed");
        }),
      120_000,
    );
  });
