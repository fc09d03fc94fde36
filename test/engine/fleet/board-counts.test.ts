import * as fc from "fast-check";
import { expect, test } from "vitest";
import { JournaledLedger } from "../../../src/core/budget/journaled-ledger.ts";
import type { Lease, LeaseDecision } from "../../../src/core/budget/ledger.ts";
import { LocalLedger } from "../../../src/core/budget/local-ledger.ts";
import type { QuotaCount } from "../../../src/core/budget/quota.ts";
import { Quotas } from "../../../src/core/budget/quotas.ts";
import { BoardCounts } from "../../../src/engine/fleet/board-counts.ts";
import { BoardModel } from "../../models/board.ts";
import { VirtualBoards } from "../../support/fleet-world.ts";
import { sampleBudget, sampleConfig } from "../../support/samples.ts";
import { settle, VirtualClock } from "../../support/virtual/clock.ts";

const HOUR_MS = 3_600_000;
const PERIOD_MS = 100 * HOUR_MS;

/** A call may be lost on its way to the board, or its answer on the way back. */
type Line = "well" | "unheard" | "unanswered";

class Board {
  model = new BoardModel();
  line: Line = "well";
  calls = 0;
  readonly #board = new VirtualBoards(new VirtualClock()).boardFor(() => false);

  replica(clock: VirtualClock, most: number, name = ""): Replica {
    return new Replica(clock, most, name, {
      ...this.#board,
      count: async (request) => {
        this.calls += 1;
        const { line } = this;
        if (line === "unheard") return undefined;
        const answer = this.model.count(request);
        await settle();
        return line === "well" ? answer : undefined;
      },
    });
  }
}

class Replica {
  readonly counts: BoardCounts;
  readonly count: QuotaCount;
  readonly #ledger: JournaledLedger;

  constructor(
    clock: VirtualClock,
    most: number,
    name: string,
    board: ConstructorParameters<typeof BoardCounts>[0]["board"],
  ) {
    const rates = [{ requests: 60, perMs: 60_000, label: "1m" }];
    const spend = { most, perMs: PERIOD_MS, onExhaust: "stop" } as const;
    const config = sampleConfig({
      budgets: [sampleBudget({ share: 1, rates, spend })],
      upstreams: [],
    });
    const quotas = new Quotas(clock);
    const inner = new LocalLedger(config, clock, quotas);
    this.counts = new BoardCounts({ board, quotas, name });
    this.#ledger = new JournaledLedger(inner, [this.counts], clock);
    this.count = quotas.of("api", "money");
    clock.stall(120_000);
  }

  take(cost: number): Promise<LeaseDecision> {
    return Promise.resolve(this.#ledger.take(["api"], cost));
  }

  async lease(cost: number): Promise<Lease> {
    const decision = await this.take(cost);
    if (decision.kind === "wait") throw new Error(`it has to wait: ${decision.cause}`);
    return decision.lease;
  }
}

function usedOn(board: Board, name = ""): number {
  const quota = { budget: "api", of: "money" } as const;
  const { own } = board.model.count({ quota, name, oldestHour: 0, counts: [] });
  return [...own.values()].reduce((sum, units) => sum + units, 0);
}

test("what a request may cost is on the board before its lease, and what it did cost soon after its answer", async () => {
  const [clock, board] = [new VirtualClock(), new Board()];
  const replica = board.replica(clock, 1_000);
  const lease = await replica.lease(100);
  expect(usedOn(board)).toBe(100);
  lease.settle("answered");
  lease.charge(10);
  await settle();
  expect(usedOn(board)).toBe(10);
  clock.stall(2_000);
  (await replica.lease(100)).settle("unsent");
  await settle();
  expect(usedOn(board)).toBe(10);
  clock.stall(2_000);
  await replica.lease(100);
  const next = board.replica(clock, 1_000);
  await next.counts.tell(next.count);
  expect(next.count.used).toBe(110);
});

test("where each replica has counts of its own, used is what all of them use, and none may use what another has", async () => {
  const [clock, board] = [new VirtualClock(), new Board()];
  const [first, second] = [board.replica(clock, 250, "a"), board.replica(clock, 250, "b")];
  await first.lease(100);
  await second.lease(100);
  expect([first.count.used, second.count.used]).toEqual([100, 200]);
  clock.stall(2_000);
  expect(await first.take(100)).toMatchObject({ kind: "wait", cause: "quota", budget: "api" });
  await settle();
  expect([usedOn(board, "a"), usedOn(board, "b"), first.count.used]).toEqual([100, 100, 200]);
  clock.stall(PERIOD_MS + HOUR_MS);
  expect(first.count.hasRoomFor(200)).toBe(false);
  await first.counts.tell(first.count);
  expect(first.count.hasRoomFor(200)).toBe(true);
});

test("a quota is used up to its last unit, and as often as one asks", async () => {
  const [clock, board] = [new VirtualClock(), new Board()];
  const replica = board.replica(clock, 5);
  let sent = 0;
  for (let ask = 0; ask < 10; ask += 1) {
    if ((await replica.take(1)).kind === "granted") sent += 1;
    clock.stall(2_000);
  }
  expect(sent).toBe(5);
});

test("while the board does not answer, nothing is granted; what it heard and did not answer is taken back later", async () => {
  const [clock, board] = [new VirtualClock(), new Board()];
  const replica = board.replica(clock, 1_000);
  (await replica.lease(10)).settle("answered");
  clock.stall(2_000);
  for (const line of ["unheard", "unanswered", "unanswered"] as const) {
    board.line = line;
    expect(await replica.take(100)).toMatchObject({ kind: "wait", cause: "ledger", budget: "api" });
    clock.stall(1_000);
  }
  board.line = "well";
  expect(usedOn(board)).toBe(110);
  const lease = await replica.lease(100);
  lease.settle("answered");
  lease.charge(40);
  await settle();
  expect([usedOn(board), replica.count.used]).toEqual([50, 50]);
});

test("a board that has lost its data is told all of it with the next request, before that may leave", async () => {
  const [clock, board] = [new VirtualClock(), new Board()];
  const replica = board.replica(clock, 1_000);
  for (let hour = 0; hour < 5; hour += 1) {
    await replica.lease(100);
    clock.stall(HOUR_MS);
  }
  board.model = new BoardModel();
  await replica.lease(100);
  expect(usedOn(board)).toBe(600);
});

test("however many ask at once, the board is told of all of them together", async () => {
  const callsOf = async (askers: number): Promise<number> => {
    const board = new Board();
    const replica = board.replica(new VirtualClock(), 1_000);
    await Promise.all(Array.from({ length: askers }, () => replica.take(10)));
    await settle();
    return board.calls;
  };
  expect((await callsOf(20)) - (await callsOf(1))).toBeLessThanOrEqual(1);
});

type Step =
  | { readonly kind: "take"; readonly who: number; readonly most: number; readonly part: number }
  | { readonly kind: "ends"; readonly how: "told" | "untold" | "unsent" }
  | { readonly kind: "killed"; readonly who: number }
  | { readonly kind: "hears"; readonly who: number }
  | { readonly kind: "line"; readonly line: Line }
  | { readonly kind: "passes"; readonly ms: number };

const who = fc.nat(2);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("take" as const),
      who,
      most: fc.constantFrom(100, 300),
      part: fc.constantFrom(0.5, 1),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("ends" as const),
      how: fc.constantFrom("told" as const, "untold" as const, "unsent" as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("killed" as const), who }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("hears" as const), who }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("line" as const),
      line: fc.constantFrom("well" as const, "well" as const, "unheard" as const, "unanswered" as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("passes" as const),
      ms: fc.constantFrom(1_200, 3_600, HOUR_MS / 2, 33 * HOUR_MS),
    }),
  },
);

test.each([
  ["each with counts of its own", ["a", "b", "c"]],
  ["one holder after the other", [""]],
])(
  "of replicas that are killed, and hear nothing for a while, %s, the bill of no period is above the spend",
  async (_, names) => {
    const SPEND = 1_000;
    type Billed = {
      readonly lease: Lease;
      readonly atMs: number;
      readonly most: number;
      readonly cost: number;
    };
    const property = fc.asyncProperty(fc.array(step, { minLength: 60, maxLength: 140 }), async (steps) => {
      const [clock, board] = [new VirtualClock({ nowMs: HOUR_MS, wallMs: 7 * HOUR_MS }), new Board()];
      const replicas = names.map((name) => board.replica(clock, SPEND, name));
      const bills = new Set<Billed>();
      let open: { readonly of: Replica; readonly billed: Billed }[] = [];
      for (const each of steps) {
        if (each.kind === "take") {
          const replica = replicas[each.who % names.length];
          const atMs = clock.wallNow();
          void replica?.take(each.most).then((decision) => {
            if (decision.kind === "wait" || !replicas.includes(replica)) return;
            const billed = { lease: decision.lease, atMs, most: each.most, cost: each.most * each.part };
            bills.add(billed);
            open.push({ of: replica, billed });
          });
        } else if (each.kind === "ends") {
          const billed = open.shift()?.billed;
          if (billed !== undefined && each.how === "unsent") bills.delete(billed);
          billed?.lease.settle(
            each.how === "told" ? "answered" : each.how === "untold" ? "unanswered" : "unsent",
          );
          if (each.how !== "unsent") billed?.lease.charge(each.how === "told" ? billed.cost : billed.most);
        } else if (each.kind === "killed") {
          const at = each.who % names.length;
          open = open.filter(({ of }) => of !== replicas[at]);
          replicas[at] = board.replica(clock, SPEND, names[at]);
        } else if (each.kind === "hears") {
          const replica = replicas[each.who % names.length];
          void replica?.counts.tell(replica.count);
        } else if (each.kind === "line") board.line = each.line;
        else clock.stall(each.ms);
        await settle();
        const sinceMs = clock.wallNow() - PERIOD_MS;
        const inPeriod = [...bills].filter(({ atMs }) => atMs > sinceMs);
        expect(inPeriod.reduce((sum, { cost }) => sum + cost, 0)).toBeLessThanOrEqual(SPEND);
      }
    });
    await fc.assert(property, { numRuns: 200 });
  },
);
