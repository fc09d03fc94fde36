import { expect, test } from "vitest";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../src/core/time/duration.ts";
import { FleetNotifyWorld } from "../../support/notify/fleet-world.ts";
import { sampleReceiver } from "../../support/notify/world.ts";

async function fleetOf(upstreams: readonly string[], isSharded: boolean): Promise<FleetNotifyWorld> {
  const world = new FleetNotifyWorld([sampleReceiver()], upstreams, isSharded);
  for (const name of ["x", "y", "z"]) {
    world.start(name);
    await world.clock.advance(100);
  }
  await world.clock.advance(MINUTE_MS);
  return world;
}

function told({ heard }: FleetNotifyWorld): readonly string[] {
  return heard.map(({ message: { event, members } }) => `${event} ${members.length}`);
}

function idsIn({ heard }: FleetNotifyWorld): ReadonlySet<string> {
  return new Set(heard.flatMap(({ message }) => message.members.map(({ incident }) => incident)));
}

test("200 upstreams that several replicas poll and that fall within 30 s are one message", async () => {
  const names = Array.from({ length: 200 }, (_, index) => `api-${index}`);
  const world = await fleetOf(names, true);
  // The first one holds all: the others take a part over.
  const [first] = world.living;
  if (first === undefined) throw new Error("nobody lives");
  await world.stop(first);
  await world.clock.advance(MINUTE_MS);
  world.start("x");
  await world.clock.advance(MINUTE_MS);
  for (const name of names) {
    await world.fall(name);
    await world.clock.advance(150);
  }
  await world.clock.advance(MINUTE_MS);
  expect(told(world)).toEqual(["down 200"]);
  expect(world.heard[0]?.message.title).toBe("200 upstreams are down");
});

test.each([
  ["shard", true],
  ["everywhere", false],
] as const)(
  "in %s one replica tells; when it dies the next one goes on, with the same ids and nothing twice",
  async (_, isSharded) => {
    const world = await fleetOf(["email", "sms"], isSharded);
    await world.fall("email");
    await world.clock.advance(MINUTE_MS);
    expect(told(world)).toEqual(["down 1"]);
    const [eldest] = world.living;
    if (eldest === undefined) throw new Error("nobody lives");
    world.kill(eldest);
    await world.clock.advance(2 * MINUTE_MS);
    expect(told(world)).toEqual(["down 1"]);
    await world.rise("email");
    await world.clock.advance(HOUR_MS);
    expect(told(world)).toEqual(["down 1", "up 1"]);
    expect(idsIn(world).size).toBe(1);
  },
);

test("what the eldest has not told when it dies is told by the next one", async () => {
  const world = await fleetOf(["email"], true);
  await world.fall("email");
  // A beat later it is on the board; the wait for others is not over.
  await world.clock.advance(3 * SECOND_MS);
  const [eldest] = world.living;
  if (eldest === undefined) throw new Error("nobody lives");
  world.kill(eldest);
  expect(told(world)).toEqual([]);
  await world.clock.advance(MINUTE_MS);
  expect(told(world)).toEqual(["down 1"]);
  await world.rise("email");
  await world.clock.advance(HOUR_MS);
  expect(told(world)).toEqual(["down 1", "up 1"]);
});

test("however many receivers there are, none hears again from the next replica what the one before has told it", async () => {
  const receivers = Array.from({ length: 6 }, (_, place) => sampleReceiver({ name: `ops-${place}` }));
  const world = new FleetNotifyWorld(receivers, ["email"], true);
  for (const name of ["x", "y"]) {
    world.start(name);
    await world.clock.advance(100);
  }
  await world.clock.advance(MINUTE_MS);
  for (let outage = 0; outage < 16; outage += 1) {
    await world.fall("email");
    await world.clock.advance(8 * MINUTE_MS);
    await world.rise("email");
    await world.clock.advance(8 * MINUTE_MS);
  }
  const before = world.heard.length;
  expect(before).toBe(6 * 2 * 16);
  // It may be megabytes.
  expect(world.readings).toBe(1);
  const [eldest] = world.living;
  if (eldest === undefined) throw new Error("nobody lives");
  world.kill(eldest);
  await world.clock.advance(10 * MINUTE_MS);
  expect(world.heard).toHaveLength(before);
  expect(world.readings).toBe(2);
});
