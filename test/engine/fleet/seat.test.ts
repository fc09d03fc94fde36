import { expect, test } from "vitest";
import { Seat } from "../../../src/engine/fleet/seat.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";
import { VirtualRedis, VirtualStore } from "../../support/virtual/redis.ts";

const HOUR_MS = 3_600_000;

type Owner = { readonly seat: Seat; readonly told: boolean[] };

function newOwner(redis: VirtualRedis, clock: VirtualClock, name: string, seats: number): Owner {
  const told: boolean[] = [];
  const seat = new Seat(new VirtualStore(redis, clock), clock, name, seats, {
    onTaken: () => undefined,
    onMissing: (isMissing) => told.push(isMissing),
  });
  return { seat, told };
}

async function keep(clock: VirtualClock, ...owners: readonly Owner[]): Promise<void> {
  const kept = Promise.all(owners.map(({ seat }) => seat.keep()));
  await clock.advance(10_000);
  await kept;
}

test("who finds every seat taken says so once, and once more when there is one", async () => {
  const clock = new VirtualClock();
  const redis = new VirtualRedis(clock);
  const [gone, staying, late] = ["a", "b", "c"].map((name) => newOwner(redis, clock, name, 2));
  if (gone === undefined || staying === undefined || late === undefined) throw new Error("no owner");
  await keep(clock, gone, staying);
  for (let turn = 0; turn < 5; turn += 1) await keep(clock, late);
  expect(late.seat.isUsable).toBe(false);
  expect(late.told).toEqual([true]);
  // Whoever is gone without a word may still poll from its reserve: it may just not reach Redis.
  for (let hour = 0; hour < 25; hour += 1) {
    await clock.advance(HOUR_MS);
    await keep(clock, staying, late);
  }
  expect(late.seat.isUsable).toBe(true);
  expect(gone.seat.isUsable).toBe(false);
  expect(late.told).toEqual([true, false]);
  expect(staying.told).toEqual([]);
});

test("a seat that is given back is there for the next one at once", async () => {
  const clock = new VirtualClock();
  const redis = new VirtualRedis(clock);
  const leaving = newOwner(redis, clock, "a", 1);
  const next = newOwner(redis, clock, "b", 1);
  await keep(clock, leaving);
  await keep(clock, next);
  expect(next.told).toEqual([true]);
  const left = leaving.seat.leave();
  await clock.advance(1_000);
  await left;
  await keep(clock, next);
  expect(next.seat.isUsable).toBe(true);
  expect(next.told).toEqual([true, false]);
});
