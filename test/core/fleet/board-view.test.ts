import { expect, test } from "vitest";
import { BoardView } from "../../../src/core/fleet/board-view.ts";
import type { Beat, LiveSession } from "../../../src/core/fleet/board.ts";
import { infoText, type MemberInfo } from "../../../src/core/fleet/member.ts";

function lives(name: string, provenMs: number | undefined, said: Partial<MemberInfo> = {}): LiveSession {
  const info = infoText({
    url: "",
    held: 0,
    groups: "same",
    config: "",
    configSinceMs: 0,
    isLeaving: false,
    asks: [],
    clockAheadMs: 0,
    ...said,
  });
  return { session: `${name}#b.1`, endsInMs: 5_000, info, provenMs };
}

function beatWith(
  sessions: readonly LiveSession[],
  holders: Readonly<Record<string, string>> | undefined,
): Beat {
  return {
    wallMs: 0,
    opensInMs: 0,
    version: "v",
    sessions,
    holders: holders && new Map(Object.entries(holders)),
    pauses: new Map(),
    granted: undefined,
  };
}

function viewOf(...sessions: readonly LiveSession[]): BoardView {
  const view = new BoardView();
  view.update(beatWith(sessions, {}));
  return view;
}

const eldestOf = (...sessions: readonly LiveSession[]): string | undefined => viewOf(...sessions).eldest;

test("the eldest is who has lived longest, whoever is named first", () => {
  expect(eldestOf(lives("a", 1_000), lives("b", 3_000), lives("c", 2_000))).toBe("b#b.1");
  expect(eldestOf(lives("a", 3_000), lives("b", 1_000))).toBe("a#b.1");
  expect(eldestOf(lives("a", 1_000), lives("b", 2_000), lives("c", 3_000))).toBe("c#b.1");
});

test("who does not hear the board is not the eldest; who leaves is until it has left", () => {
  expect(eldestOf(lives("a", 9_000, { isLeaving: true }), lives("b", 1), lives("c", undefined))).toBe(
    "a#b.1",
  );
  expect(eldestOf(lives("b", 1), lives("c", undefined))).toBe("b#b.1");
  expect(eldestOf(lives("c", undefined))).toBeUndefined();
});

test("the clock of most replicas is the one in the middle, however far the others are off", () => {
  const clockOf = (...aheadMs: readonly number[]): number =>
    viewOf(...aheadMs.map((clockAheadMs, index) => lives(`r${index}`, 0, { clockAheadMs }))).usualClockMs;
  expect(clockOf()).toBe(0);
  expect(clockOf(7)).toBe(7);
  // Of two in the middle, the one that is behind.
  expect(clockOf(90_000, 0)).toBe(0);
  expect(clockOf(90_000, 30, -50_000, 10, 20)).toBe(20);
  expect(clockOf(30, 20, 10, 90_000, -50_000)).toBe(20);
});

test("a replica that has heard of no other knows of one config, and of each other one that runs", () => {
  expect(new BoardView().configs).toBe(1);
  expect(viewOf(lives("a", 0, { config: "x" }), lives("b", 0, { config: "x" })).configs).toBe(1);
  expect(viewOf(lives("a", 0, { config: "x" }), lives("b", 0, { config: "y" })).configs).toBe(2);
});

test("a name is held by who lives, as the last answer that named holders says, and what is known since then", () => {
  const view = viewOf(lives("a", 0));
  view.update(beatWith([lives("a", 0), lives("b", 0)], { "u:one": "a#b.1", "u:two": "b#b.1" }));
  const holders = (): unknown => ["u:one", "u:two"].map((name) => view.holderOf(name));
  expect(holders()).toEqual(["a#b.1", "b#b.1"]);
  view.update(beatWith([lives("a", 0)], undefined));
  expect(holders()).toEqual(["a#b.1", undefined]);
  view.note("u:two", "a#b.1");
  view.note("u:one", undefined);
  expect(holders()).toEqual([undefined, "a#b.1"]);
});

test("what a claim or a release changes is thought about anew, though the board has said nothing since", () => {
  const own = { groups: "same" };
  const view = viewOf(lives("a", 20_000));
  const before = view.standingOf(own, 10_000);
  expect(view.standingOf(own, 10_000)).toBe(before);
  view.note("u:one", "a#b.1");
  expect(view.standingOf(own, 10_000)).not.toBe(before);
});

test("what nobody holds goes to who has lived long enough, and who is new keeps what it holds", () => {
  const groups = ["b:one", "b:two"].map((id) => ({
    id,
    names: [id],
    budgets: [],
    upstreams: [],
    pollsPerSecond: 1,
  }));
  const view = viewOf();
  view.update(beatWith([lives("old", 20_000), lives("new", 1_000)], { "b:one": "new#b.1" }));
  expect(view.assignmentOf(groups, { groups: "same" }, 10_000)).toEqual(
    new Map([
      ["b:one", "new"],
      ["b:two", "old"],
    ]),
  );
});
