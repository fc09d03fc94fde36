import { expect, test } from "vitest";
import { BoardView } from "../../../src/core/fleet/board-view.ts";
import type { LiveSession } from "../../../src/core/fleet/board.ts";
import { infoText } from "../../../src/core/fleet/member.ts";

function lives(name: string, provenMs: number | undefined, isLeaving = false): LiveSession {
  const info = infoText({
    url: "",
    held: 0,
    groups: "same",
    config: "",
    configSinceMs: 0,
    isLeaving,
    asks: [],
    clockAheadMs: 0,
  });
  return { session: `${name}#b.1`, endsInMs: 5_000, info, provenMs };
}

function eldestOf(...sessions: readonly LiveSession[]): string | undefined {
  const view = new BoardView();
  view.update({
    wallMs: 0,
    opensInMs: 0,
    isOlderAlive: false,
    version: "v",
    sessions,
    holders: new Map(),
    pauses: new Map(),
    granted: undefined,
  });
  return view.eldest;
}

test("the eldest is who has lived longest, whoever is named first", () => {
  expect(eldestOf(lives("a", 1_000), lives("b", 3_000), lives("c", 2_000))).toBe("b#b.1");
  expect(eldestOf(lives("a", 3_000), lives("b", 1_000))).toBe("a#b.1");
  expect(eldestOf(lives("a", 1_000), lives("b", 2_000), lives("c", 3_000))).toBe("c#b.1");
});

test("who does not hear the board is not the eldest; who leaves is until it has left", () => {
  expect(eldestOf(lives("a", 9_000, true), lives("b", 1), lives("c", undefined))).toBe("a#b.1");
  expect(eldestOf(lives("b", 1), lives("c", undefined))).toBe("b#b.1");
  expect(eldestOf(lives("c", undefined))).toBeUndefined();
});
