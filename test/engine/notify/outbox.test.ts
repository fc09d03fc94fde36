import { expect, test } from "vitest";
import type { Notice } from "../../../src/core/notify/plan.ts";
import { NO_INCIDENT } from "../../../src/core/notify/trouble.ts";
import { DAY_MS, HOUR_MS } from "../../../src/core/time/duration.ts";
import { Outbox } from "../../../src/engine/notify/outbox.ts";
import type { Delivery } from "../../../src/engine/receivers/answer.ts";
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

test("what is grouped waits until the last millisecond of its group has passed; once it is told, more may be", async () => {
  const clock = new VirtualClock();
  const sent: string[] = [];
  const answers: ((answer: Delivery) => void)[] = [];
  let isFree = false;
  const outbox = new Outbox(sampleReceiver({ groupWaitMs: 10_000 }), 0, [], {
    clock,
    log: { debug: mute, info: mute, warn: mute, error: mute },
    random: () => 0,
    send: (_, { title }) => {
      sent.push(title);
      return new Promise((resolve) => answers.push(resolve));
    },
    keep: mute,
    onFree: () => (isFree = true),
  });
  const startedAtMs = clock.wallNow();
  const told = { kind: "down", reason: "timeout", polls: 2, startedAtMs, knownAtMs: startedAtMs } as const;
  const trouble = { ...NO_INCIDENT, ...told, id: "email/1", subject: "email", upstream: "email" };
  const look = (): number =>
    outbox.look({
      scene: {
        troubles: [trouble],
        upstream: () => ({ labels: {}, state: "down", isUnsure: false }),
      },
      of: 1,
      words: () => undefined,
      pageUrl: undefined,
    });
  expect(look()).toBe(10_000);
  await clock.advance(9_999);
  expect([look(), sent]).toEqual([1, []]);
  await clock.advance(1);
  expect([look(), sent]).toEqual([Infinity, ["email is down"]]);
  for (const answer of answers) answer({ kind: "delivered", detail: "it answered 200" });
  await clock.advance(0);
  expect(isFree).toBe(true);
});
