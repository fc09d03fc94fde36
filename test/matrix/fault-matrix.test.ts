import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { REASON_NAMES, REASONS } from "../../src/kernel/exchange/reasons.ts";
import { BEHAVIOURS } from "../support/behaviours/catalogue.ts";
import { meet, meetingOf, sayingOf } from "../support/behaviours/meet.ts";
import { startNeighbour, type Neighbour } from "./neighbour.ts";

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

let neighbour: Neighbour;

beforeAll(async () => {
  neighbour = await startNeighbour();
});

afterAll(async () => {
  await neighbour[Symbol.asyncDispose]();
});

test("every way in which a poll can fail or be throttled is met", () => {
  const met = new Set(BEHAVIOURS.map(({ meets }) => meets));
  // What one poll of one upstream does not show: no token, no network, a process that stood still or has no memory left.
  // The ends of a stream are in test/transport/stream.test.ts.
  const told = new Set(["auth", "offline", "suspended", "memory", "stream"]);
  const meetable = REASON_NAMES.filter((reason) => !told.has(reason));
  const meetings = meetable.map((reason) => `${REASONS[reason].outcome} ${reason}`);
  expect([...met].sort()).toEqual(["ok", ...meetings].sort());
});

test("no two behaviours say the same", () => {
  expect(new Set(BEHAVIOURS.map(({ does }) => does)).size).toBe(BEHAVIOURS.length);
});

describe.concurrent("an upstream that", () => {
  for (const behaviour of BEHAVIOURS) {
    test(`${behaviour.does}: ${behaviour.meets}`, async () => {
      const stage = await behaviour.open();
      const poll = await meet(behaviour, stage);
      // Every socket is gone before the other side is told to end.
      await stage.idle();
      const requests = stage.requests();
      await neighbour.polledAgain();
      await stage.close();

      expect(meetingOf(poll)).toBe(behaviour.meets);
      expect(sayingOf(poll, stage, behaviour.says)).toBe(behaviour.says);
      expect(requests).toBeLessThanOrEqual(1);
      expect(poll.detail + (poll.excerpt ?? "")).not.toMatch(UNPRINTABLE);
      expect(neighbour.missed).toEqual([]);
    });
  }
});
