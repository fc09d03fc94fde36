import { expect, test } from "vitest";
import { type Alert, NO_INCIDENT } from "../../../src/features/notify/plan/alert.ts";
import type { Outlook } from "../../../src/features/notify/plan/outlook.ts";
import type { Notified } from "../../../src/features/notify/plan/transitions.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../src/kernel/time/duration.ts";
import { Outbox } from "../../../src/features/notify/outbox.ts";
import type { Delivery } from "../../../src/features/notify/receivers/answer.ts";
import { sampleReceiver } from "../../support/notify/world.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

const mute = (): void => {};

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
  const failed = { kind: "down", startedAtMs, knownAtMs: startedAtMs } as const;
  const alert = { ...NO_INCIDENT, ...failed, id: "email/1", subject: "email", upstream: "email" };
  const look = (): number =>
    outbox.look({
      nowMs: clock.wallNow(),
      alerts: [alert],
      upstream: () => ({ labels: {}, state: "down", isUnsure: false }),
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

/** An outage of an upstream, as it is known after three days of which the last hour was good. */
function longOutage(clock: VirtualClock): { readonly alert: Alert; readonly told: Notified } {
  const startedAtMs = clock.wallNow() - 3 * DAY_MS;
  const endedAtMs = clock.wallNow() - HOUR_MS;
  const of = { subject: "email", upstream: "email", kind: "down", startedAtMs } as const;
  const alert = {
    ...of,
    id: "email/1",
    endedAtMs,
    knownAtMs: endedAtMs,
    says: "",
  };
  const told = { ...of, receiver: "ops", alert: "email/1", state: "notified", atMs: startedAtMs } as const;
  return { alert, told: { ...told, thread: "email/1" } };
}

test("an outage of days whose end a receiver does not ask for is not told anew once it is over", async () => {
  const clock = new VirtualClock();
  const { alert, told } = longOutage(clock);
  const sent: string[] = [];
  const outbox = new Outbox(sampleReceiver({ on: ["down"] }), 0, [told], {
    clock,
    log: { debug: mute, info: mute, warn: mute, error: mute },
    random: () => 0,
    send: async (_, { title }) => {
      sent.push(title);
      return { kind: "delivered", detail: "" };
    },
    keep: mute,
    onFree: mute,
  });
  const upstream: Outlook["upstream"] = () => ({ labels: {}, state: "up", isUnsure: false });
  for (let look = 0; look < 3; look += 1) {
    outbox.look({
      nowMs: clock.wallNow(),
      alerts: [alert],
      upstream,
      of: 1,
      words: () => undefined,
      pageUrl: undefined,
    });
    outbox.forget();
    await clock.advance(MINUTE_MS);
  }
  expect(sent).toEqual([]);
});
