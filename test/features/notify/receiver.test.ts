import * as fc from "fast-check";
import { expect, test } from "vitest";
import { systemClock } from "../../../src/platform/clock.ts";
import { NameResolver } from "../../../src/transport/dns/name-resolver.ts";
import { KnownKeys } from "../../../src/transport/secrets/known-keys.ts";
import { send } from "../../../src/features/notify/notify.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../src/kernel/time/duration.ts";
import { Receiving } from "../../support/notify/receiving.ts";
import { NotifyWorld } from "../../support/notify/world.ts";
import { worlds } from "../../support/many.ts";

type Taken = {
  readonly event: string;
  readonly incident: string;
  readonly over: boolean;
  /** So many outages are in the message. */
  readonly count: number;
  readonly atMs: number;
};

const STEP_MS = 5 * SECOND_MS;

const steps = fc.array(
  fc.record({
    what: fc.constantFrom(
      "falls",
      "falls",
      "rises",
      "rises",
      "receiver fails",
      "receiver is back",
      "restart",
    ),
    forMs: fc.constantFrom(3 * SECOND_MS, 40 * SECOND_MS, 3 * MINUTE_MS, 12 * MINUTE_MS),
  }),
  { minLength: 10, maxLength: 40 },
);

test("whatever happens, a receiver that is told of an outage is told of its end, once each, and of no outage never", async () => {
  await using receiving = await Receiving.open();
  const { hostname, port } = new URL(receiving.url);
  const mute = (): void => {};
  const parts = {
    clock: systemClock,
    environment: { OPS_URL: `http://${hostname}:${port}/` },
    keys: new KnownKeys([]),
    names: new NameResolver({ clock: systemClock }),
    userAgent: "pacewatch/test",
    log: { debug: mute, info: mute, warn: mute, error: mute },
    denyAddresses: undefined,
  };
  const lived = async (life: readonly { readonly what: string; readonly forMs: number }[]): Promise<void> => {
    const world = new NotifyWorld();
    const taken: Taken[] = [];
    const outages = new Set<string>();
    let inFlight: Promise<unknown> = Promise.resolve();
    let fails = false;
    receiving.answer = (response, { body }) => {
      if (!fails) taken.push({ ...(JSON.parse(body) as Taken), atMs: world.nowMs });
      response.writeHead(fails ? 503 : 200).end();
    };
    world.deliver = (receiver, message) => {
      const sent = send(receiver, message, parts);
      inFlight = sent;
      return sent;
    };
    const advance = async (forMs: number): Promise<void> => {
      for (let passedMs = 0; passedMs < forMs; passedMs += STEP_MS) {
        await world.clock.advance(Math.min(STEP_MS, forMs - passedMs));
        await inFlight;
      }
    };
    world.start();
    await advance(MINUTE_MS);
    for (const { what, forMs } of life) {
      const isUp = world.upstreams.get("email")?.state === "up";
      if (what === "falls" && isUp) outages.add(world.fall("email"));
      if (what === "rises" && !isUp) world.rise("email");
      if (what === "receiver fails") fails = true;
      if (what === "receiver is back") fails = false;
      if (what === "restart") {
        world.kill();
        world.start();
      }
      await advance(forMs);
    }
    fails = false;
    if (world.upstreams.get("email")?.state !== "up") world.rise("email");
    await advance(HOUR_MS);
    world.kill();

    const told = taken.map(({ event, incident }) => `${event} ${incident}`);
    expect(new Set(told).size, "nothing is told twice").toBe(told.length);
    for (const [place, { event, incident }] of taken.entries()) {
      expect(outages).toContain(incident);
      const ends = taken.slice(place + 1).filter((each) => each.incident === incident && each.event === "up");
      expect(
        ends.map(({ over }) => over),
        `${event} ${incident}`,
      ).toEqual(event === "up" ? [] : [true]);
      const half = taken.filter(({ atMs }) => Math.abs(atMs - (taken[place]?.atMs ?? 0)) <= 15 * MINUTE_MS);
      expect(half.length, "however it flaps").toBeLessThanOrEqual(10);
    }
    // What flaps is told as one.
    const ends = taken.filter(({ event }) => event === "up").reduce((sum, { count }) => sum + count, 0);
    const isEach = taken.every(({ event }) => event !== "flapping");
    expect(isEach ? ends : outages.size, "each outage has its end").toBe(outages.size);
  };
  await fc.assert(fc.asyncProperty(steps, lived), {
    numRuns: worlds(6),
    seed: 20_261_128,
    endOnFailure: true,
  });
});
