import { expect, test } from "vitest";
import { SmallReplica, VirtualBoards } from "../../support/fleet-world.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

const TTL_MS = 10_000;
const UPSTREAMS = 5_000;

test("one of three dies that held a third of 5,000 upstreams: others hold it after a few dozen calls", async () => {
  const clock = new VirtualClock();
  const boards = new VirtualBoards(clock);
  const replicas = ["a", "b", "c"].map(
    (name) => new SmallReplica(clock, boards, { name, upstreams: UPSTREAMS }),
  );
  await clock.advance(4 * TTL_MS);
  const held = (): number[] => replicas.map(({ polled }) => polled.size);
  expect(Math.min(...held())).toBeGreaterThan(1_500);
  expect(held().reduce((sum, count) => sum + count, 0)).toBe(UPSTREAMS);
  const [dead] = replicas;
  if (dead === undefined) throw new Error("three began");
  dead.line = "cut";
  dead.polled.clear();
  const before = boards.calls;
  await clock.advance(2 * TTL_MS);
  expect(held().reduce((sum, count) => sum + count, 0)).toBe(UPSTREAMS);
  // Two names each, 256 names a call; the beats of all, and what they tell, come to some sixty.
  expect(boards.calls - before).toBeLessThan(100);
});
