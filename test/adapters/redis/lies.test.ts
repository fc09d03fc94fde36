import * as fc from "fast-check";
import { expect, test } from "vitest";
import { RedisFleetBoard } from "../../../src/adapters/redis/board.ts";
import { BoardView } from "../../../src/core/fleet/board-view.ts";
import { readNote } from "../../../src/core/fleet/budget-note.ts";

/** Whoever may write to the Redis of a fleet can say anything: here every script returns just that. */
function boardThatSays(value: unknown): RedisFleetBoard {
  const run = (): Promise<{ kind: "reply"; value: unknown }> => Promise.resolve({ kind: "reply", value });
  return new RedisFleetBoard({ run }, { prefix: "test" });
}

const CALLER = { session: "r1#a.1", ttlMs: 10_000 };
const BEAT = { answeredAgoMs: undefined, info: "{}", version: "", wants: undefined };
const CLAIM = { groups: [{ names: ["b:api"], budgets: [] }], retakes: false };

const anything = fc.oneof(
  fc.constantFrom("NaN", -1e308, 1e308, "", "OK", null, -5, true, 0),
  fc.jsonValue({ maxDepth: 3 }),
);

function isDuration(value: number): boolean {
  return value >= 0 && value < Infinity;
}

/** An answer of ours, in which some field is something else. */
const lie = fc.record({ field: fc.nat(11), value: anything });

function changed(
  fields: Readonly<Record<string, unknown>>,
  { field, value }: { field: number; value: unknown },
): string {
  const name = Object.keys(fields)[field % Object.keys(fields).length] ?? "";
  return JSON.stringify({ ...fields, [name]: value });
}

test("no number gets through that a timer could not wait for, and no name that was not claimed", async () => {
  const session = { session: "r1#a.1", endsInMs: 9_000, provenMs: 5, info: "{}" };
  const claimed = { name: "b:api", unheldMs: 7, waitMs: 5, record: { text: "{}", agoMs: 3 } };
  let answers = 0;
  await fc.assert(
    fc.asyncProperty(lie, lie, lie, async (inSession, inBeat, inClaimed) => {
      const fields = {
        wallMs: 1,
        opensInMs: 2,
        version: "v",
        sessions: [JSON.parse(changed(session, inSession))],
        holders: {},
        pauses: [["b:api", 7]],
      };
      const beat = await boardThatSays(changed(fields, inBeat)).beat({ ...CALLER, ...BEAT });
      const told = beat === "lost" ? undefined : beat;
      const sessions = told?.sessions ?? [];
      const times = sessions.flatMap(({ endsInMs, provenMs }) => [endsInMs, provenMs ?? 0]);
      if (told !== undefined) times.push(told.opensInMs, told.wallMs, ...told.pauses.values());
      expect(times.every(isDuration)).toBe(true);
      const elsewhere = { ...claimed, name: "elsewhere" };
      const written = [elsewhere, JSON.parse(changed(claimed, inClaimed))];
      const board = boardThatSays(JSON.stringify({ claimed: written }));
      const given = (await board.claim({ ...CALLER, ...CLAIM })) ?? [];
      expect(given.every(({ name, waitMs }) => name === "b:api" && isDuration(waitMs))).toBe(true);
      answers += times.length + given.length;
    }),
    { seed: 20261122, numRuns: 500 },
  );
  expect(answers).toBeGreaterThan(100);
});

test.each([undefined, "", "{", "[]", "7", JSON.stringify({ at: "elsewhere" }), 7, ["beat"]])(
  "%j is no answer",
  async (value) => {
    const board = boardThatSays(value);
    expect(await board.beat({ ...CALLER, ...BEAT })).toBeUndefined();
    expect(await board.claim({ ...CALLER, ...CLAIM })).toBeUndefined();
    expect(await board.records()).toBeUndefined();
    expect(await board.tell({ ttlMs: 1, pauses: new Map(), resumed: [], records: new Map() })).toBe(false);
    expect(await board.release({ ...CALLER, names: [], leasesEndInMs: {}, endsSession: false })).toBe(false);
    const quota = { budget: "api", of: "requests" } as const;
    const count = { quota, name: "", oldestHour: 0, counts: [] };
    expect(await board.count(count)).toBeUndefined();
  },
);

test("a budget that is claimed without a time to begin is not claimed", async () => {
  const board = boardThatSays(JSON.stringify({ claimed: [{ name: "b:api" }] }));
  expect(await board.claim({ ...CALLER, ...CLAIM })).toBeUndefined();
});

test("what another left of a budget is read as far as it has sense", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom("at", "pausedUntilMs", "lowered", "untold", "windows"), anything),
      (note) => {
        const read = readNote(JSON.stringify(note));
        expect(isDuration(read?.record.pausedUntilMs ?? 0)).toBe(true);
        for (const { perMs, requests } of read?.record.lowered ?? [])
          expect(perMs > 0 && requests >= 0).toBe(true);
      },
    ),
  );
});

test("holders are not remembered beyond all bounds", () => {
  const holder = "r1#a.1";
  const endless = "x".repeat(301 - holder.length);
  const names = [endless, ...Array.from({ length: 60_000 }, (_, index) => `b:api-${index}`)];
  const view = new BoardView();
  view.update({
    wallMs: 1,
    opensInMs: 0,
    version: "v",
    sessions: [{ session: holder, endsInMs: 1_000, info: "{}", provenMs: 0 }],
    holders: new Map(names.map((name) => [name, holder])),
    pauses: new Map(),
    granted: undefined,
  });
  expect(view.holderOf("b:api-1")).toBe(holder);
  expect(view.holderOf("b:api-59999")).toBeUndefined();
  expect(view.holderOf(endless)).toBeUndefined();
});
