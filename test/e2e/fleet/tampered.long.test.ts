import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Fleet } from "../../support/fleet/fleet.ts";
import { busiestWindows } from "../../support/fleet/limit-judge.ts";
import { monotonicMs } from "../../support/fleet/monotonic.ts";
import type { Scene } from "../../support/fleet/scene.ts";
import { REDIS_SERVER } from "../../support/processes/redis-server.ts";
import { inFleet } from "./judgement.ts";

const SCENE: Scene = {
  mode: "shard",
  replicas: ["r1", "r2", "r3"],
  ttlMs: 3_000,
  periodMs: 1_000,
  windowMs: 4_000,
  timeoutMs: 1_000,
  lingerMs: 1_000,
  isScraped: false,
  isSplit: true,
  budgets: { email: { requests: 20, upstreams: ["email-1", "email-2", "email-3", "email-4"] } },
};
const ALLOWED = 20;
const UPSTREAMS = 4;
/** In a window that both of its ends belong to. */
const SLOTS = UPSTREAMS * (SCENE.windowMs / SCENE.periodMs + 1);

/** Nothing was ever sent, nothing is paused, and nobody waits his turn. */
const FORGET = `
for _, key in ipairs(redis.call('KEYS', '*')) do
  for _, kind in ipairs({'starts', 'pauses', 'records'}) do
    if string.find(key, ':' .. kind .. '$') then redis.call('DEL', key) end
  end
end`;
const FORGET_EVERY_MS = 20;

/** As somebody who may write to Redis, and wants no limit to hold. */
async function forgetAll(port: number, signal: AbortSignal): Promise<void> {
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  socket.resume();
  const words = ["EVAL", FORGET, "0"].map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  while (!signal.aborted) {
    socket.write(`*${words.length}\r\n${words.join("")}`);
    await sleep(FORGET_EVERY_MS, undefined, { signal }).catch(() => {});
  }
  socket.destroy();
  await once(socket, "close");
}

it.skipIf(REDIS_SERVER === undefined)(
  "a Redis that tells each of three replicas that it is alone, and forgets all that was sent, makes them send what three would by their schedules, and no more",
  async () =>
    inFleet(SCENE, async (fleet: Fleet) => {
      const over = new AbortController();
      const tampering = SCENE.replicas.map((name) => forgetAll(fleet.wayOf(name).port, over.signal));
      const polledByAll = SCENE.replicas.map((name) =>
        fleet.allPolled(monotonicMs(), ({ life }) => life.startsWith(`${name}.`)),
      );
      await Promise.all(polledByAll);
      const sinceMs = monotonicMs();
      // Each upstream is polled in every slot of three windows.
      for (let window = 0; window < 3; window += 1) {
        await sleep(SCENE.windowMs);
        await fleet.allPolled();
      }
      over.abort();
      await Promise.all(tampering);
      const seen = (await fleet.seen()).filter(({ atMs }) => atMs > sinceMs);
      const busiest = busiestWindows(seen, SCENE.windowMs).get("email") ?? 0;
      process.stdout.write(`tampered: at most ${busiest} of ${ALLOWED} requests in ${SCENE.windowMs} ms\n`);
      expect(busiest).toBeGreaterThan(1.5 * ALLOWED);
      expect(busiest).toBeLessThanOrEqual(SCENE.replicas.length * SLOTS);
    }),
);
