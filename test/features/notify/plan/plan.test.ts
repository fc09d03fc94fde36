import { expect, test } from "vitest";
import { foldFiring } from "../../../../src/features/notify/plan/alert.ts";
import { notifiedOf, planFor } from "../../../../src/features/notify/plan/plan.ts";
import { isOpen, type Notified } from "../../../../src/features/notify/plan/transitions.ts";
import { DAY_MS, HOUR_MS } from "../../../../src/kernel/time/duration.ts";
import { sampleReceiver } from "../../../support/notify/world.ts";

/** A receiver that is told at once, of an upstream whose answers announce the end of its API. */
class Told {
  readonly notified = new Map<string, Notified>();
  nowMs = 1_790_000_000_000;
  dates: string[] = [];

  /** What its answers announce now. */
  announce(date: string): void {
    const firing = {
      kind: "api_ending",
      upstream: "email",
      of: date,
      says: `It ends on ${date}.`,
    } as const;
    const { open } = foldFiring(new Map(), [firing], this.nowMs);
    const { notified, nowMs } = this;
    const { dues, quiet } = planFor({
      receiver: sampleReceiver(),
      sinceMs: 0,
      notified,
      nowMs,
      alerts: [...open.values()],
      upstream: () => ({ state: "up", labels: {}, isUnsure: false }) as const,
      of: 1,
      words: () => undefined,
      pageUrl: undefined,
    });
    const how = { atMs: nowMs, incident: "" } as const;
    const told = dues.flatMap((due) => notifiedOf("ops", due, notified, how));
    for (const each of [...quiet, ...told]) notified.set(each.alert, each);
    if (dues.length > 0) this.dates.push(date);
  }

  get open(): number {
    return this.notified.values().filter(isOpen).toArray().length;
  }
}

test("an end of an API that is another one in each answer is told once a day, and little is kept of it", () => {
  const told = new Told();
  for (let hour = 0; hour < 24 * 30; hour += 1) {
    told.announce(String(hour));
    told.nowMs += HOUR_MS;
  }
  expect(told.dates).toHaveLength(30);
  expect(told.open).toBeLessThanOrEqual(9);
});

test("of servers that do not agree about the end of their API, each date is told once", () => {
  const told = new Told();
  for (let hour = 0; hour < 24 * 30; hour += 1) {
    told.announce(["may", "june", "july"][hour % 3] ?? "");
    told.nowMs += HOUR_MS;
  }
  expect(told.dates).toEqual(["may", "june", "july"]);
});

test("an end that is put off is told", () => {
  const told = new Told();
  told.announce("may");
  told.nowMs += 30 * DAY_MS;
  told.announce("june");
  expect(told.dates).toEqual(["may", "june"]);
});
