import { expect, test } from "vitest";
import {
  type HourCount,
  NOBODY_KNOWS,
  QuotaCount,
  quotasIn,
  type QuotaRow,
} from "../../../src/features/quota/quota.ts";
import { HOUR_MS } from "../../../src/kernel/time/duration.ts";

const API = { budget: "api", of: "requests" } as const;
const DAY_MS = 24 * HOUR_MS;
const LIMIT = { most: 1_000, perMs: DAY_MS, onExhaust: "stop" } as const;

/** A quota of a day at seven o'clock, and what the file was told of it. */
class Scene {
  nowMs = 7 * HOUR_MS;
  readonly told: (readonly QuotaRow[])[] = [];
  readonly count: QuotaCount;

  constructor(restored: readonly HourCount[] = []) {
    this.count = new QuotaCount(
      API,
      () => this.nowMs,
      restored,
      (told) => void this.told.push(quotasIn([{ notes: [told] }]).rows),
    );
    this.count.change(LIMIT);
    this.told.length = 0;
  }

  send(): void {
    this.count.end(this.count.send(1), 1);
  }
}

const row = (hour: number, requests: number, unconfirmed = 0): QuotaRow => ({
  ...API,
  hour,
  requests,
  unconfirmed,
});

test("requests count for the whole window, rounded up to whole hours", () => {
  const scene = new Scene();
  scene.nowMs = 0;
  scene.send();
  scene.send();
  scene.nowMs = DAY_MS / 2;
  scene.send();
  scene.nowMs = DAY_MS;
  expect(scene.count.used).toBe(3);
  scene.nowMs = DAY_MS + HOUR_MS - 1;
  expect(scene.count.used).toBe(3);
  scene.nowMs = DAY_MS + HOUR_MS;
  expect(scene.count.used).toBe(1);
});

test("a request that was never sent is taken back", () => {
  const { count } = new Scene();
  count.end(count.send(1), 0);
  expect(count.used).toBe(0);
});

test("it is spent at its last request, and without a limit never", () => {
  const scene = new Scene([row(7, 999)]);
  expect([scene.count.hasRoomFor(1), scene.count.used]).toEqual([true, 999]);
  scene.send();
  expect(scene.count.hasRoomFor(1)).toBe(false);
  scene.count.change(undefined);
  expect([scene.count.hasRoomFor(1), scene.count.used]).toEqual([true, undefined]);
});

test("a shorter period, for a while, forgets nothing of a longer one", () => {
  const scene = new Scene();
  scene.send();
  const limit = scene.count.limit;
  if (limit === undefined) throw new Error("it has a limit");
  scene.nowMs += 3 * HOUR_MS;
  scene.count.change({ ...limit, perMs: HOUR_MS });
  scene.send();
  expect(scene.count.used).toBe(1);
  scene.count.change(limit);
  expect(scene.count.used).toBe(2);
});

test("its memory is 400 days, which is longer than any quota", () => {
  const scene = new Scene(Array.from({ length: 9_999 }, (_, hour) => row(hour, 1)));
  scene.nowMs = 9_999 * HOUR_MS;
  scene.send();
  expect(scene.count.buckets.size).toBe(400 * 24 + 1);
});

test("the file is told of a request when it begins, unconfirmed, and again when it ends", () => {
  const { count, told } = new Scene();
  const first = count.send(1);
  const second = count.send(1);
  count.end(first, 1);
  count.end(second, 0);
  expect(told).toEqual([[row(7, 1, 1)], [row(7, 2, 2)], [row(7, 2, 1)], [row(7, 1)]]);
});

test("those that an earlier process may have sent stay apart from those that are in flight", () => {
  const scene = new Scene([row(5, 3, 1), row(6, 2, 2)]);
  scene.count.send(1);
  expect(quotasIn([scene.count]).rows).toEqual([row(5, 3, 1), row(6, 2, 2), row(7, 1, 1)]);
  expect([scene.count.used, scene.count.unconfirmed]).toEqual([6, 3]);
  scene.nowMs = 6 * HOUR_MS + DAY_MS;
  expect([scene.count.used, scene.count.unconfirmed]).toEqual([3, 2]);
});

test("an hour that has left the quota stays in the file, as a longer quota may count it", () => {
  const scene = new Scene([row(7, 3)]);
  scene.nowMs = 9 * HOUR_MS + DAY_MS;
  expect(scene.count.used).toBe(0);
  scene.send();
  expect(scene.told.map((rows) => rows.map(({ hour }) => hour))).toEqual([[33], [33]]);
});

test("a budget that gets a quota tells the file all that was counted without one", () => {
  const scene = new Scene();
  scene.count.change(undefined);
  scene.send();
  expect(scene.told).toEqual([]);
  scene.count.change(LIMIT);
  expect(scene.told).toEqual([[row(7, 1)]]);
});

test("where the calendar is set, what this process sent is counted later, and what is in flight moves with it", () => {
  const scene = new Scene([row(7, 10)]);
  scene.send();
  const request = scene.count.send(1);
  scene.nowMs += 3 * HOUR_MS;
  scene.count.calendarSet(3 * HOUR_MS, scene.nowMs);
  expect(quotasIn([scene.count]).rows).toEqual([row(7, 10), row(10, 2, 1)]);
  scene.count.end(request, 0);
  expect(scene.told.at(-1)).toEqual([row(7, 10), row(10, 1)]);
});

test("it tells until when there is no room: as long as nothing is sent, there is room from then on", () => {
  const scene = new Scene([row(1, 300), row(3, 300), row(6, 395)]);
  expect(scene.count.noRoomUntilMs(5)).toBeUndefined();
  for (const units of [6, 305, 306, 605, 606, 1_000]) {
    const untilMs = scene.count.noRoomUntilMs(units) ?? 0;
    scene.nowMs = untilMs - 1;
    expect([units, scene.count.hasRoomFor(units)]).toEqual([units, false]);
    scene.nowMs = untilMs;
    expect([units, scene.count.hasRoomFor(units)]).toEqual([units, true]);
    scene.nowMs = 7 * HOUR_MS;
  }
});

test("where nobody knows how much was used, there is room once all of it has left", () => {
  const scene = new Scene([row(7, NOBODY_KNOWS)]);
  const untilMs = scene.count.noRoomUntilMs(1) ?? 0;
  expect(untilMs).toBeLessThanOrEqual(scene.nowMs + DAY_MS + HOUR_MS);
  scene.nowMs = untilMs;
  expect(scene.count.hasRoomFor(1)).toBe(true);
});
