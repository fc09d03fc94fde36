import { expect, test } from "vitest";
import { SteadyCalendar } from "../../src/platform/steady-calendar.ts";
import { VirtualClock } from "../support/virtual/clock.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

type World = { readonly clock: VirtualClock; readonly calendar: SteadyCalendar; readonly setByMs: number[] };

function newWorld(): World {
  const clock = new VirtualClock();
  const setByMs: number[] = [];
  const calendar = new SteadyCalendar(clock, 15 * MINUTE_MS);
  calendar.onSet((byMs) => setByMs.push(byMs));
  return { clock, setByMs, calendar };
}

/** It is asked every few seconds, as slots are. */
function pass({ clock, calendar }: World, minutes: number): void {
  for (let passed = 0; passed < minutes * 6; passed += 1) {
    clock.stall(MINUTE_MS / 6);
    calendar.now();
  }
}

test.each([DAY_MS, -DAY_MS])("a step of the wall clock by %i ms that is undone changes nothing", (byMs) => {
  const world = newWorld();
  const { clock, calendar } = world;
  const expectedMs = clock.wallNow() + 30 * MINUTE_MS;
  pass(world, 10);
  clock.stepWall(byMs);
  pass(world, 10);
  clock.stepWall(-byMs);
  pass(world, 10);
  expect(calendar.now()).toBe(expectedMs);
  expect(world.setByMs).toEqual([]);
});

test.each([20 * DAY_MS, -DAY_MS])("a wall clock that goes on to differ, by %i ms, is followed", (byMs) => {
  const world = newWorld();
  const { clock, calendar } = world;
  clock.stepWall(byMs);
  pass(world, 20);
  expect(calendar.now()).toBe(clock.wallNow());
  expect(world.setByMs).toEqual([byMs]);
});

test("a machine that is suspended again and again, and never awake for long, is followed too", () => {
  const world = newWorld();
  const { clock, calendar } = world;
  for (let night = 0; night < 20; night += 1) {
    clock.stepWall(DAY_MS);
    pass(world, 5);
  }
  pass(world, 40);
  expect(calendar.now()).toBe(clock.wallNow());
});

test("at the end it goes by the wall clock at once, as the next process will", () => {
  const world = newWorld();
  const { clock, calendar } = world;
  clock.stepWall(20_000 * DAY_MS);
  pass(world, 3);
  calendar.settle();
  expect(calendar.now()).toBe(clock.wallNow());
  expect(world.setByMs).toEqual([20_000 * DAY_MS]);
  calendar.settle();
  expect(world.setByMs).toHaveLength(1);
});
