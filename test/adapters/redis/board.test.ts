import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RedisFleetBoard } from "../../../src/adapters/redis/board.ts";
import type { Caller, FleetBoard } from "../../../src/core/fleet/board.ts";
import { BoardModel } from "../../models/board.ts";
import { TestFleet } from "../../support/fleet-redis.ts";
import { REDIS_SERVER } from "../../support/processes/redis-server.ts";

/** The test's own clock, and the server that it says it is. */
const TEST_CLOCK = `
local now = tonumber(redis.call('HGET', 'test:clock', 'now'))
local run = redis.call('HGET', 'test:clock', 'run')
`;

let redis: TestFleet | undefined;
beforeAll(async () => {
  if (REDIS_SERVER !== undefined) redis = await TestFleet.start();
});
afterAll(() => redis?.[Symbol.asyncDispose]());

type Step =
  | { readonly kind: "pass"; readonly ms: number }
  | { readonly kind: "restart" }
  | { readonly kind: "empty" }
  | { readonly kind: "beat"; readonly who: number; readonly joins: boolean; readonly most: number }
  | {
      readonly kind: "claim";
      readonly who: number;
      readonly upstreams: readonly string[];
      readonly retakes: boolean;
      readonly inherits: boolean;
    }
  | {
      readonly kind: "release";
      readonly who: number;
      readonly upstreams: readonly string[];
      readonly endsSession: boolean;
    };

const who = fc.integer({ min: 0, max: 3 });
const upstreams = fc.subarray(["u1", "u2", "u3", "u4", "u5"]);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: -3_000, max: 6_000 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("empty" as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("beat" as const),
      who,
      joins: fc.boolean(),
      most: fc.integer({ min: 1, max: 6 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("claim" as const),
      who,
      upstreams,
      retakes: fc.boolean(),
      inherits: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("release" as const),
      who,
      upstreams,
      endsSession: fc.boolean(),
    }),
  },
);

/** Two processes; the first has two sessions. */
const SESSIONS = ["a#x.1", "a#x.2", "b#y.1", "c#z.1"];
const TTL_MS = 10_000;

test.skipIf(REDIS_SERVER === undefined)(
  "the scripts answer what the model answers, whatever happens in whatever order",
  async () => {
    if (redis === undefined) throw new Error("no redis");
    const command = await redis.commands();
    const board = new RedisFleetBoard(await redis.connect(), { prefix: "test", clock: TEST_CLOCK });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        await command("FLUSHALL");
        let table = new BoardModel();
        let nowMs = 1_790_000_000_000;
        let runs = 1;
        /** What each caller knows: as a replica would, it asks for what is new. */
        const known = SESSIONS.map(() => ({ epoch: "", version: 0, atMs: undefined as number | undefined }));
        const setClock = (): Promise<unknown> =>
          command("HSET", "test:clock", "now", String(nowMs), "run", `run${runs}`);
        await setClock();
        for (const taken of steps) {
          if (taken.kind === "pass") nowMs += taken.ms;
          if (taken.kind === "restart") runs += 1;
          if (taken.kind === "empty") {
            await command("FLUSHALL");
            table = new BoardModel();
          }
          await setClock();
          if (!("who" in taken)) continue;
          const mine = known[taken.who];
          if (mine === undefined) throw new Error("nobody");
          const caller: Caller = {
            session: SESSIONS[taken.who] ?? "",
            ttlMs: TTL_MS,
            expectedMs: mine.atMs === undefined ? undefined : mine.atMs + 4_000,
            isStepSure: nowMs % 2 === 0,
          };
          const answers = await both(board, table, { nowMs, runId: `run${runs}` }, caller, taken, mine);
          expect(answers.theirs).toEqual(answers.ours);
          if (answers.ours.kind === "beat") {
            mine.epoch = answers.ours.epoch;
            mine.version = answers.ours.version;
          }
          if ("serverMs" in answers.ours) mine.atMs = answers.ours.serverMs;
        }
      }),
      { numRuns: 150 },
    );
  },
);

type Pair = {
  readonly theirs: object;
  readonly ours:
    | ReturnType<BoardModel["beat"]>
    | ReturnType<BoardModel["claim"]>
    | ReturnType<BoardModel["release"]>;
};

async function both(
  board: FleetBoard,
  table: BoardModel,
  time: { nowMs: number; runId: string },
  caller: Caller,
  taken: Extract<Step, { who: number }>,
  { epoch, version }: { readonly epoch: string; readonly version: number },
): Promise<Pair> {
  switch (taken.kind) {
    case "beat": {
      const info = `info of ${caller.session}`;
      const request = { ...caller, joins: taken.joins, info, epoch, version, mostChanges: taken.most };
      return { theirs: await board.beat(request), ours: table.beat(time, request) };
    }
    case "claim": {
      const request = { ...caller, ...taken };
      return { theirs: await board.claim(request), ours: table.claim(time, request) };
    }
    case "release": {
      const request = { ...caller, ...taken };
      return { theirs: await board.release(request), ours: table.release(time, request) };
    }
    default:
      return taken satisfies never;
  }
}

test.skipIf(REDIS_SERVER === undefined)(
  "what was released more than a day ago may have left the config: how long nobody held it is not told",
  async () => {
    if (redis === undefined) throw new Error("no redis");
    const command = await redis.commands();
    const board = new RedisFleetBoard(await redis.connect(), { prefix: "absent", clock: TEST_CLOCK });
    const table = new BoardModel();
    let nowMs = 1_790_000_000_000;
    const does = async (who: number, taken: object): Promise<Pair> => {
      await command("HSET", "test:clock", "now", String(nowMs), "run", "run1");
      const session = SESSIONS[who] ?? "";
      const caller = { session, ttlMs: TTL_MS, expectedMs: undefined, isStepSure: false };
      const step = { who, ...taken } as Extract<Step, { who: number }>;
      const pair = await both(board, table, { nowMs, runId: "run1" }, caller, step, {
        epoch: "",
        version: 0,
      });
      expect(pair.theirs).toEqual(pair.ours);
      return pair;
    };
    const claim = { kind: "claim", upstreams: ["u1"], retakes: true, inherits: true };
    const release = { kind: "release", upstreams: ["u1"], endsSession: true };
    for (const [who, awayMs, unheldMs] of [
      [0, 0, undefined],
      [2, 86_399_999, 86_399_999],
      [3, 86_400_000, undefined],
    ] as const) {
      nowMs += awayMs;
      await does(who, { kind: "beat", joins: true, most: 9 });
      expect((await does(who, claim)).ours).toMatchObject({ claimed: [{ upstream: "u1", unheldMs }] });
      await does(who, release);
    }
  },
);

test.skipIf(REDIS_SERVER === undefined)("what is published by one is read by all", async () => {
  if (redis === undefined) throw new Error("no redis");
  const board = new RedisFleetBoard(await redis.connect(), { prefix: "published" });
  const entries = new Map(
    Array.from({ length: 1_000 }, (_, index) => [`upstream-${index}`, `{"n":${index}}`]),
  );
  expect(await board.publish(entries)).toBe(true);
  expect(await board.published()).toEqual(entries);
});

test.skipIf(REDIS_SERVER === undefined)(
  "what nobody has published for a day is gone, and nothing of it stays in Redis",
  async () => {
    if (redis === undefined) throw new Error("no redis");
    const command = await redis.commands();
    const board = new RedisFleetBoard(await redis.connect(), { prefix: "aging", clock: TEST_CLOCK });
    const at = (nowMs: number): Promise<unknown> =>
      command("HSET", "test:clock", "now", String(nowMs), "run", "run1");
    const [startMs, dayMs] = [1_790_000_000_000, 86_400_000];
    await at(startMs);
    await board.publish(new Map(Array.from({ length: 1_500 }, (_, index) => [`gone-${index}@eu-1`, "{}"])));
    await board.publish(new Map([["email@eu-2", "{}"]]));
    await at(startMs + dayMs / 2);
    await board.publish(new Map([["email@eu-2", '{"s":"up"}']]));
    expect((await board.published())?.size).toBe(1_501);
    // Each call removes some, so that none keeps Redis busy for long.
    await at(startMs + dayMs + 1);
    await board.publish(new Map([["router@eu-2", "{}"]]));
    await board.publish(new Map([["router@eu-2", "{}"]]));
    expect(await board.published()).toEqual(
      new Map([
        ["email@eu-2", '{"s":"up"}'],
        ["router@eu-2", "{}"],
      ]),
    );
    const keys = await command("KEYS", "aging:*");
    for (const key of Array.isArray(keys) ? keys.map(String) : []) {
      expect(Number(await command("PTTL", key))).toBeGreaterThan(0);
    }
  },
);

test("where Redis is away, so is the board", async () => {
  const failed = { run: () => Promise.resolve({ kind: "failed", failure: "away" } as const) };
  const board = new RedisFleetBoard(failed, { prefix: "away" });
  const caller = { session: "a#b.1", ttlMs: 10_000, expectedMs: undefined, isStepSure: false };
  expect(await board.release({ ...caller, upstreams: [], endsSession: true })).toEqual({ kind: "away" });
  expect(await board.published()).toBeUndefined();
  expect(await board.publish(new Map([["a", "b"]]))).toBe(false);
});
