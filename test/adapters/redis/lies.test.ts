import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RedisFleetBoard } from "../../../src/adapters/redis/board.ts";
import { RedisLedger } from "../../../src/adapters/redis/ledger.ts";
import { BoardView } from "../../../src/core/fleet/board-view.ts";
import { NOTHING_KNOWN, updated } from "../../../src/core/fleet/shared-budget-view.ts";
import type { SharedTerms } from "../../../src/core/fleet/ledger-store.ts";

/** Whoever may write to the Redis of a fleet can say anything: here every script returns just that. */
function redisThatSays(value: unknown): ConstructorParameters<typeof RedisLedger>[0] {
  return { run: () => Promise.resolve({ kind: "reply", value }), onChange: () => {} };
}

const TERMS: SharedTerms = {
  replica: "r1:life",
  budget: "email",
  rates: [{ perMs: 60_000, cap: 10, aside: 2, own: 0 }],
  share: 0.3,
  maxPauseMs: 3_600_000,
  lingerMs: 60_000,
  holdMs: 90_000,
  quota: { requests: 1_000, perMs: 3_600_000 },
};

const TRUE_STATE = ["1700000000000.5", "run-1", "0", "0", "0", "", "", "5", "1", "0", "0", "10", "3", "2"];
const EPOCH = 1;
const CALLER = { session: "r1#a.1", ttlMs: 10_000, expectedMs: 0, isStepSure: false };
const BEAT = { joins: true, info: "{}", epoch: "", version: 0, mostChanges: 10 };
const CLAIM = { retakes: false, inherits: false };

function looked(state: readonly unknown[]): ReturnType<RedisLedger["look"]> {
  return new RedisLedger(redisThatSays(state), "test").look(TERMS, false);
}

function taken(state: readonly unknown[]): ReturnType<RedisLedger["take"]> {
  return new RedisLedger(redisThatSays([state]), "test").take([TERMS], "lease");
}

describe("the ledger", () => {
  test("believes what its script says", async () => {
    expect(await looked(TRUE_STATE)).toMatchObject({ kind: "answered", answer: { caps: [10], leases: [3] } });
    expect(await taken([...TRUE_STATE, "250", "budget"])).toMatchObject({
      kind: "answered",
      answer: { waits: [{ budget: "email", waitMs: 250, cause: "budget" }] },
    });
  });

  // A single pause of NaN would compare as over, also with every true one that comes later.
  test.each(["NaN", "nonsense", "Infinity", "1e999", "-1", "-Infinity", "OK"])(
    "takes %s as no answer, wherever it stands for a number",
    async (lie) => {
      const fields = [...TRUE_STATE.keys()].filter((field) => field !== EPOCH);
      const answers = await Promise.all(fields.map(async (field) => looked(TRUE_STATE.with(field, lie))));
      expect(answers).toEqual(fields.map(() => ({ kind: "away" })));
      expect(await taken([...TRUE_STATE, lie, "budget"])).toEqual({ kind: "away" });
    },
  );

  test("keeps no endless name of an epoch", async () => {
    expect(await looked(TRUE_STATE.with(EPOCH, "x".repeat(1_000_000)))).toEqual({ kind: "away" });
  });

  test("makes nobody pause for longer than max_pause", async () => {
    const reading = await looked(TRUE_STATE.with(3, "1e300").with(4, "1e300"));
    const state = reading.kind === "answered" ? reading.answer : undefined;
    const view = state && updated(NOTHING_KNOWN, state, 1_000, TERMS.maxPauseMs);
    const untilMs = 1_000 + TERMS.maxPauseMs;
    expect(view).toMatchObject({ pausedUntilMs: untilMs, yieldUntilMs: untilMs });
  });

  test("takes no seat that there is not", async () => {
    for (const seat of [Number.NaN, -1, 4, 1e308]) {
      const ledger = new RedisLedger(redisThatSays(seat), "test");
      expect(await ledger.takeSeat(3, "r1", 1_000)).toEqual({ kind: "away" });
    }
  });
});

describe("the board", () => {
  test("lets no number through that a timer could not wait for, and no upstream that was not claimed", async () => {
    const anything = fc.oneof(
      fc.constantFrom("NaN", "-1e308", "1e308", "Infinity", "", "OK", "elsewhere", null, -5),
      fc.string(),
      fc.array(fc.string(), { maxLength: 5 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(anything, { minLength: 7, maxLength: 9 }), async (rest) => {
        const beats = new RedisFleetBoard(redisThatSays(["beat", ...rest]), { prefix: "test" });
        const beat = await beats.beat({ ...CALLER, ...BEAT });
        const numbers = "sessions" in beat ? [beat.opensInMs, beat.serverMs, beat.version] : [Number.NaN];
        const sessions = "sessions" in beat ? beat.sessions : [];
        for (const number of [
          ...numbers,
          ...sessions.flatMap((each) => [each.endsInMs, each.trialEndsInMs]),
        ]) {
          expect(number).toBeGreaterThanOrEqual(0);
          expect(number).toBeLessThan(Infinity);
        }
        const claims = new RedisFleetBoard(
          redisThatSays(["claimed", ...rest.slice(0, 2), ["elsewhere", "NaN", "api", "NaN"]]),
          { prefix: "test" },
        );
        const claim = await claims.claim({ ...CALLER, ...CLAIM, upstreams: ["api"] });
        expect(claim).toMatchObject({ claimed: [{ upstream: "api", unheldMs: 0 }] });
      }),
      { seed: 20_261_122, numRuns: 300 },
    );
  });

  test("is not remembered beyond all bounds", () => {
    const holder = "r1#a.1";
    const changes = Array.from({ length: 60_000 }, (_, index) => ({ upstream: `api-${index}`, holder }));
    const endless = "x".repeat(1_000_000);
    const view = new BoardView();
    view.update({
      kind: "beat",
      serverMs: 1,
      epoch: "e",
      opensInMs: 0,
      isWhole: true,
      version: 1,
      hasMore: false,
      sessions: [{ session: holder, endsInMs: 1_000, info: "{}", trialEndsInMs: 0 }],
      changes: [{ upstream: endless, holder }, ...changes],
    });
    expect(view.holderOf("api-1")).toBe(holder);
    expect(view.holderOf("api-59999")).toBeUndefined();
    expect(view.holderOf(endless)).toBeUndefined();
  });
});
