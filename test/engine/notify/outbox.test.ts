import { expect, test } from "vitest";
import type { Notice } from "../../../src/core/notify/plan.ts";
import { DAY_MS, HOUR_MS } from "../../../src/core/time/duration.ts";
import { Outbox } from "../../../src/engine/notify/outbox.ts";
import { sampleReceiver } from "../../support/notify/world.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

const mute = (): void => {};

test("who begins to tell a fleet's receivers takes over what was told, and what nobody knows of after a day is over", () => {
  const clock = new VirtualClock();
  const receiver = sampleReceiver();
  const notice = (incident: string, agoMs: number, changes: Partial<Notice> = {}): Notice => ({
    receiver: receiver.name,
    incident,
    subject: incident,
    upstream: incident,
    startedAtMs: clock.wallNow() - agoMs,
    event: "down",
    thread: incident,
    side: "them",
    atMs: clock.wallNow() - agoMs,
    isOpen: true,
    ...changes,
  });
  const own = [notice("forgotten", 2 * DAY_MS), notice("late", HOUR_MS), notice("known", 2 * DAY_MS)];
  const kept: string[] = [];
  const outbox = new Outbox(receiver, 0, own, {
    clock,
    log: { debug: mute, info: mute, warn: mute, error: mute },
    random: () => 0,
    send: () => new Promise(() => {}),
    keep: ({ incident }) => void kept.push(incident),
    onFree: mute,
  });
  outbox.takeOver({
    since: new Map(),
    notices: [
      notice("known", 2 * DAY_MS),
      notice("new", HOUR_MS),
      notice("late", 2 * HOUR_MS, { isOpen: false }),
      notice("of another", HOUR_MS, { receiver: "of another" }),
    ],
  });
  const open = [...outbox.notices.values()].map(({ incident, isOpen }) => [incident, isOpen]);
  expect(Object.fromEntries(open)).toEqual({ forgotten: false, late: true, known: true, new: true });
  expect(kept.toSorted()).toEqual(["forgotten", "known", "new"]);
});
