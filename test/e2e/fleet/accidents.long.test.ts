import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Fleet } from "../../support/fleet/fleet.ts";
import type { Replica } from "../../support/fleet/replica.ts";
import { openScene, type Scene } from "../../support/fleet/scene.ts";
import { judgeFleet } from "../../support/fleet/verdict.ts";
import { REDIS_SERVER } from "../../support/processes/redis-server.ts";

/** Its schedules ask for all that the cap allows. */
const SCENE: Scene = {
  replicas: ["a", "b"],
  ttlMs: 3_000,
  periodMs: 1_000,
  windowMs: 4_000,
  timeoutMs: 500,
  lingerMs: 0,
  isScraped: true,
  budgets: { api: { requests: 20, upstreams: ["u1", "u2", "u3", "u4"] } },
};

const ACCIDENTS: readonly (readonly [string, (fleet: Fleet, leader: Replica) => Promise<void>])[] = [
  [
    "is killed again and again",
    async (fleet, first) => {
      let leader = first;
      for (let kills = 0; kills < 5; kills += 1) {
        await leader.kill();
        await fleet.start(leader.name);
        leader = await fleet.led();
        await sleep(2_000);
      }
    },
  ],
  [
    "is stopped in order, one after the other",
    async (fleet) => {
      for (const name of [...SCENE.replicas, ...SCENE.replicas]) {
        await fleet.replica(name).stop();
        await fleet.led();
        await fleet.start(name);
      }
    },
  ],
  [
    "stands still for longer than it may lead",
    async (fleet, leader) => {
      leader.freeze();
      await sleep(2.5 * SCENE.ttlMs);
      leader.thaw();
      await fleet.led();
    },
  ],
  [
    "is cut off from the lock",
    async (fleet, leader) => {
      for (const way of ["mute", "drop", "reset"] as const) {
        fleet.wayOf(leader.name).cut(way);
        await sleep(2.5 * SCENE.ttlMs);
        fleet.wayOf(leader.name).mend();
        await fleet.led();
      }
    },
  ],
  [
    "loses the lock, as it is restarted empty",
    async (fleet) => {
      await fleet.redis.restart();
      await sleep(SCENE.ttlMs);
      await fleet.redis.stop();
      await sleep(2 * SCENE.ttlMs);
      await fleet.redis.restart();
    },
  ],
];

// One after the other: ten daemons at once would leave none the time to lead.
test.skipIf(REDIS_SERVER === undefined).for(ACCIDENTS)(
  "the limit holds while the leader %s, and polling goes on",
  { timeout: 240_000 },
  async ([, happen]) => {
    await using fleet = await openScene(SCENE);
    const leader = await fleet.led();
    await fleet.allPolled();
    await happen(fleet, leader);
    await fleet.led();
    await fleet.allPolled();
    const { faults } = await judgeFleet(fleet, SCENE);
    expect(faults).toEqual([]);
  },
);
