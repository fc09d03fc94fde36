import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RedisFleetBoard } from "../../../src/adapters/redis/board.ts";
import type { BeatRequest, FleetBoard } from "../../../src/core/fleet/board.ts";
import { BoardModel, type BoardTime } from "../../models/board.ts";
import { TestFleet } from "../../support/fleet-redis.ts";
import { REDIS_SERVER } from "../../support/processes/redis-server.ts";

/** The test's own clock, and the server that it says it is. */
const TEST_CLOCK = `
local now = tonumber(redis.call('HGET', 'test:clock', 'now'))
local run = redis.call('HGET', 'test:clock', 'run')
`;

const TTL_MS = 10_000;

let redis: TestFleet | undefined;
beforeAll(async () => {
  if (REDIS_SERVER !== undefined) redis = await TestFleet.start();
});
afterAll(() => redis?.[Symbol.asyncDispose]());

type Step = (world: {
  readonly board: FleetBoard;
  readonly model: BoardModel;
  readonly time: BoardTime;
}) => Promise<readonly [script: unknown, model: unknown]>;
type Happening = {
  readonly passMs: number;
  readonly accident: "none" | "restart" | "empty" | "older";
  readonly step: Step;
};

const session = fc
  .tuple(fc.nat(1), fc.nat(2), fc.nat(1))
  .map(([who, boot, count]) => `r${who}#b${boot}.${count}`);
const names = fc.subarray(["b:api", "b:mail", "u:users", "u:orders", "u:letters"], { minLength: 1 });
const durations = fc.constantFrom(0, 500, 3_000, 12_000);
const shares = fc.constantFrom(
  { seat: 0.1, rest: 0.4 },
  { seat: 0, rest: 1 / 3 },
  { seat: 0.2 / 3, rest: 0.8 / 3 },
);

function inOrder(answer: unknown): unknown {
  if (answer instanceof Map) return [...answer].map(inOrder).sort(byText);
  if (Array.isArray(answer)) return answer.map(inOrder).sort(byText);
  if (typeof answer !== "object" || answer === null) return answer;
  return Object.fromEntries(Object.entries(answer).map(([key, value]) => [key, inOrder(value)]));
}

function byText(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}

function beats(who: string, answeredAgoMs: number | undefined, wants?: BeatRequest["wants"]): Step {
  const request = { session: who, ttlMs: TTL_MS, answeredAgoMs, info: `I am "${who}"`, version: "", wants };
  return async ({ board, model, time }) => [await board.beat(request), model.beat(time, request)];
}

const beat: fc.Arbitrary<Step> = fc
  .record({
    session,
    answeredAgoMs: fc.constantFrom(undefined, undefined, 0, 2_000, 7_900, 8_100),
    wants: fc.option(fc.tuple(shares, fc.boolean()), { nil: undefined }),
  })
  .map(({ session: who, answeredAgoMs, wants }) =>
    beats(
      who,
      answeredAgoMs,
      wants && { ...wants[0], has: wants[1] ? wants[0] : { seat: 0, rest: 0 }, forgottenMs: 5_000 },
    ),
  );

/** A replica dies twice and begins anew, while another one lives on. */
const deaths: readonly Happening[] = [0, 1, 2].flatMap((life) => [
  { passMs: 100, accident: "none" as const, step: beats(`r0#b${life}.0`, undefined) },
  { passMs: 100, accident: "none" as const, step: beats(`r0#b${life}.0`, 100) },
  ...Array.from({ length: 16 }, (_, index) => ({
    passMs: 1_500,
    accident: "none" as const,
    step:
      index < 8 ? beats(`r0#b${life}.0`, 1_500) : beats("r1#b0.0", life + index === 8 ? undefined : 1_500),
  })),
]);

const claim: fc.Arbitrary<Step> = fc
  .record({
    session,
    names,
    coldMs: durations,
    waitMs: durations,
    terms: fc.constantFrom("a", "b"),
    retakes: fc.boolean(),
  })
  .map(({ session: who, names: wanted, retakes, ...terms }) => async ({ board, model, time }) => {
    const budgets = wanted
      .filter((name) => name.startsWith("b:"))
      .map((name) => ({ budget: name.slice(2), ...terms }));
    const request = { session: who, ttlMs: TTL_MS, groups: [{ names: wanted, budgets }], retakes };
    return [await board.claim(request), model.claim(time, request)];
  });

const release: fc.Arbitrary<Step> = fc
  .record({ session, names, endsIn: fc.option(durations, { nil: undefined }), endsSession: fc.boolean() })
  .map(({ session: who, names: given, endsIn, endsSession }) => async ({ board, model, time }) => {
    const leasesEndInMs = endsIn === undefined ? {} : Object.fromEntries(given.map((name) => [name, endsIn]));
    const request = { session: who, ttlMs: TTL_MS, names: given, leasesEndInMs, endsSession };
    return [await board.release(request), model.release(time, request)];
  });

const tell: fc.Arbitrary<Step> = fc
  .record({ names, forMs: durations, resumed: fc.subarray(["b:api", "u:users"]) })
  .map(({ names: paused, forMs, resumed }) => async ({ board, model, time }) => {
    const pauses = new Map(paused.map((name) => [name, forMs]));
    const records = new Map(paused.map((name) => [name, `{"of":"${name} ${forMs}"}`]));
    const news = { ttlMs: TTL_MS, pauses, resumed, records };
    model.tell(time, news);
    return [await board.tell(news), true];
  });

const records: fc.Arbitrary<Step> = fc.constant(async ({ board, model }) => [
  await board.records(),
  model.records(),
]);

const count: fc.Arbitrary<Step> = fc
  .record({
    name: fc.constantFrom("", "r1"),
    oldestHour: fc.nat(3),
    counts: fc.array(fc.record({ hour: fc.nat(5), from: fc.nat(9), to: fc.nat(9) }), { maxLength: 3 }),
    of: fc.constantFrom("requests" as const, "money" as const),
  })
  .map(({ name, oldestHour, of, ...told }) => async ({ board, model }) => {
    // Requests, or billionths of a currency: more digits than a double is usually written with.
    const unit = of === "requests" ? 1 : 100_000_000_000_003;
    const counts = told.counts.map(({ hour, from, to }) => ({ hour, from: from * unit, to: to * unit }));
    const request = { quota: { budget: "api", of }, name, oldestHour, counts };
    return [await board.count(request), model.count(request)];
  });

const happenings: fc.Arbitrary<readonly Happening[]> = fc.array(
  fc.record({
    passMs: fc.integer({ min: -3_000, max: 6_000 }),
    accident: fc.oneof(
      { weight: 40, arbitrary: fc.constant("none" as const) },
      { weight: 3, arbitrary: fc.constantFrom("restart", "empty") },
    ),
    step: fc.oneof(
      { weight: 6, arbitrary: beat },
      { weight: 6, arbitrary: claim },
      { weight: 3, arbitrary: release },
      { weight: 2, arbitrary: tell },
      { weight: 1, arbitrary: records },
      { weight: 2, arbitrary: count },
    ),
  }),
  { minLength: 5, maxLength: 60 },
);

test.skipIf(REDIS_SERVER === undefined)(
  "in any life of a board, the scripts in Redis answer as their model does",
  async () => {
    const connection = await redis?.connect();
    const command = await redis?.commands();
    if (connection === undefined || command === undefined) throw new Error("Redis did not start");
    const board = new RedisFleetBoard(connection, { prefix: "test", clock: TEST_CLOCK });
    await fc.assert(
      fc.asyncProperty(happenings, async (life) => {
        await command("FLUSHALL");
        let model = new BoardModel();
        let time: BoardTime = { nowMs: 1_000_000, runId: "run1" };
        for (const [index, { passMs, accident, step }] of life.entries()) {
          const runId = accident === "restart" ? `run${index + 2}` : time.runId;
          time = { nowMs: time.nowMs + passMs, runId };
          if (accident === "empty") {
            await command("FLUSHALL");
            model = new BoardModel();
          }
          await command("HSET", "test:clock", "now", String(time.nowMs), "run", time.runId);
          const [script, paper] = await step({ board, model, time });
          expect(inOrder(script)).toEqual(inOrder(paper));
        }
      }),
      { seed: 20261123, numRuns: 150, examples: [[deaths]] },
    );
  },
  60_000,
);
