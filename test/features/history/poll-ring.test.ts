import { expect, test } from "vitest";
import { packedPolls, PollRing } from "../../../src/features/history/poll-ring.ts";
import type { PollStatus } from "../../../src/features/history/kept-poll.ts";

function poll(number: number, changes: Partial<PollStatus> = {}): PollStatus {
  return {
    id: `poll-${number}`,
    origin: "schedule",
    atMs: 1_000 * number,
    outcome: "ok",
    reason: "",
    degraded: false,
    durationMs: number + 0.25,
    phasesMs: { connect: 1.5, wait: number },
    status: 200,
    detail: "answered 200 with 2 B",
    excerpt: undefined,
    ...changes,
  };
}

const FAILED = {
  outcome: "failed",
  reason: "server_error",
  status: 503,
  detail: "answered 503",
  excerpt: "busy",
  headers: [{ name: "server", bytes: 5 }],
} as const;

test("all that we know of a poll is told of it, whatever came before and after, and nothing that a failure said", () => {
  const polls = [
    poll(1, { origin: "first" }),
    poll(2),
    poll(3, FAILED),
    poll(4, { ...FAILED, headers: [{ name: "server", bytes: 9 }] }),
    poll(5, { outcome: "failed", reason: "dns", status: undefined, phasesMs: { dns: 3 }, detail: "no name" }),
    poll(6, { degraded: true }),
    poll(7),
  ];
  const ring = new PollRing(60);
  for (const each of polls) ring.add(each);
  const told = polls.map((each) => {
    if (each.outcome === "ok") return each;
    return { ...each, detail: each.reason, excerpt: undefined, headers: undefined };
  });
  expect(ring.all).toEqual(told);
  expect(ring.newest).toEqual(told.at(-1));
});

test("whatever an id is, it is told unchanged", () => {
  const ids = [
    "mwrsk5gj-3uw",
    "mwrsk5gj-3ux",
    "other-3ux",
    "-1",
    "x",
    "",
    "x-",
    "x-007",
    "a-b-7",
    "x-NaN",
    "x-1.5",
  ];
  const polls = ids.map((id, index) => poll(index, { id }));
  const ring = new PollRing(60, packedPolls(polls));
  expect(ring.all).toEqual(polls);
  for (const id of ids) ring.markOffline(id);
  expect(ring.all.every(({ outcome, reason }) => outcome === "ours" && reason === "offline")).toBe(true);
});

test("the oldest gives way, and the newest is last", () => {
  const ring = new PollRing(5);
  expect(ring.all).toEqual([]);
  expect(ring.newest).toBeUndefined();
  for (let number = 1; number <= 23; number += 1) {
    ring.add(poll(number));
    const oldest = Math.max(1, number - 4);
    expect(ring.all).toEqual(Array.from({ length: number - oldest + 1 }, (_, index) => poll(oldest + index)));
    expect(ring.newest).toEqual(poll(number));
  }
});

test("it goes on with those of a former life", () => {
  const ring = new PollRing(3, packedPolls([poll(1), poll(2)]));
  expect(ring.all).toEqual([poll(1), poll(2)]);
  for (let number = 3; number <= 23; number += 1) {
    ring.add(poll(number));
    expect(ring.all).toEqual([number - 2, number - 1, number].map((each) => poll(each)));
  }
});

test("only polls that went well tell how long an answer takes", () => {
  const ring = new PollRing(4, packedPolls([poll(1), poll(2), poll(3, FAILED), poll(4)]));
  expect([...ring.okDurationsMs].sort((a, b) => a - b)).toEqual([1.25, 2.25, 4.25]);
});
