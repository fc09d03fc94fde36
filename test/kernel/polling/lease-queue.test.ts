import { expect, test } from "vitest";

import { askOf, charge, TestLedger } from "../../support/test-ledger.ts";
import type { HeldBack } from "../../../src/kernel/poll/ports.ts";
import { sampleBudget, sampleConfig } from "../../support/kernel-samples.ts";
import type { Lease, LeaseDecision, Ledger, Settlement } from "../../../src/kernel/budget/ledger.ts";
import { LeaseQueue, type Waiter } from "../../../src/kernel/polling/lease-queue.ts";
import { settle, VirtualClock } from "../../support/virtual/clock.ts";

/** Grants one lease every second, and remembers what became of each. */
class SecondLedger implements Ledger {
  readonly settled: string[] = [];
  readonly #clock: VirtualClock;
  #listener: (budget: string) => void = () => {};
  #freeAtMs = 1_000;
  cause: "budget" | "backoff" = "budget";
  isBroken = false;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  heldBack(): never {
    throw new Error("nobody asks this");
  }

  paceGapMs(): never {
    throw new Error("nobody asks this");
  }

  isLowered(): never {
    throw new Error("nobody asks this");
  }

  async take(): Promise<LeaseDecision> {
    await Promise.resolve();
    if (this.isBroken) throw new Error("broken");
    if (this.#clock.now() < this.#freeAtMs) {
      return { kind: "wait", untilMs: this.#freeAtMs, cause: this.cause, budget: "api" };
    }
    this.#freeAtMs = this.#clock.now() + 1_000;
    const record = (settlement: Settlement): void => void this.settled.push(settlement);
    return { kind: "granted", lease: { isUsable: () => true, settle: record, ended: () => {} } };
  }

  onChange(listener: (budget: string) => void): void {
    this.#listener = listener;
  }

  free(): void {
    this.#freeAtMs = this.#clock.now();
    this.#listener("api");
  }
}

function line(): {
  clock: VirtualClock;
  ledger: SecondLedger;
  queue: LeaseQueue;
  bugs: unknown[];
  story: string[];
  waiter: (name: string, dueMs?: number, endsAtPause?: boolean) => Waiter;
} {
  const clock = new VirtualClock();
  const ledger = new SecondLedger(clock);
  const bugs: unknown[] = [];
  const story: string[] = [];
  return {
    clock,
    ledger,
    bugs,
    story,
    queue: new LeaseQueue(ledger, clock, (error) => void bugs.push(error)),
    waiter: (name, dueMs = 0, endsAtPause = false) => ({
      ask: askOf(["api"]),
      dueMs,
      endsAtPause,
      granted: (_lease: Lease) => void story.push(`${name} at ${clock.now()}`),
      refused: ({ cause }) => void story.push(`${name} refused: ${cause}`),
    }),
  };
}

test("the line is served in the order of coming", async () => {
  const { clock, queue, story, waiter } = line();
  for (const name of ["a", "b", "c"]) queue.enter(waiter(name));
  await clock.advance(3_000);
  expect(story).toEqual(["a at 1000", "b at 2000", "c at 3000"]);
});

test("who is due first goes first, whoever came first", async () => {
  const { clock, queue, story, waiter } = line();
  queue.enter(waiter("in an hour", 3_600_000));
  queue.enter(waiter("soon", 2_000));
  queue.enter(waiter("overdue", -5_000));
  await clock.advance(3_000);
  expect(story).toEqual(["overdue at 1000", "soon at 2000", "in an hour at 3000"]);
});

test("who leaves the line is told what it waited for, and costs nobody a lease", async () => {
  const { clock, ledger, queue, story, waiter } = line();
  const ticket = queue.enter(waiter("a"));
  queue.enter(waiter("b"));
  await settle();
  expect(ticket?.withdraw()).toMatchObject({ cause: "budget", budget: "api" });
  await clock.advance(5_000);
  expect(story).toEqual(["b at 1000"]);
  expect(ledger.settled).toEqual([]);
});

test("a lease that comes when everybody has left is given back unsent", async () => {
  const { clock, ledger, queue, waiter } = line();
  await clock.advance(1_000);
  queue.enter(waiter("a"))?.withdraw();
  await settle();
  expect(ledger.settled).toEqual(["unsent"]);
});

test("a change in the ledger is looked at at once", async () => {
  const { clock, ledger, queue, story, waiter } = line();
  queue.enter(waiter("a"));
  await clock.advance(300);
  ledger.free();
  await settle();
  expect(story).toEqual(["a at 300"]);
});

test("a pause sends confirmations away, and lets the others wait", async () => {
  const { clock, ledger, queue, story, waiter } = line();
  ledger.cause = "backoff";
  queue.enter(waiter("confirmation", 0, true));
  queue.enter(waiter("slot"));
  await clock.advance(1_000);
  expect(story).toEqual(["confirmation refused: backoff", "slot at 1000"]);
});

test("a ledger that breaks refuses those who wait, and serves those who come later", async () => {
  const { clock, ledger, queue, story, bugs, waiter } = line();
  ledger.isBroken = true;
  queue.enter(waiter("a"));
  await settle();
  expect(story).toEqual(["a refused: ledger"]);
  expect(bugs.length).toBe(1);
  ledger.isBroken = false;
  queue.enter(waiter("b"));
  await clock.advance(1_000);
  expect(story.at(-1)).toBe("b at 1000");
});

test("a poller that breaks when it is granted a lease gives it back, and the others go on waiting", async () => {
  const { clock, ledger, queue, story, bugs, waiter } = line();
  queue.enter({
    ...waiter("a"),
    granted: () => {
      throw new Error("broken");
    },
  });
  queue.enter(waiter("b"));
  await clock.advance(2_000);
  expect(story).toEqual(["b at 2000"]);
  expect(bugs).toHaveLength(1);
  expect(ledger.settled).toEqual(["unsent"]);
});

test("one that breaks when it is refused leaves the others refused, and the process alive", async () => {
  const { ledger, queue, story, bugs, waiter } = line();
  ledger.isBroken = true;
  queue.enter({
    ...waiter("a"),
    refused: () => {
      throw new Error("broken too");
    },
  });
  queue.enter(waiter("b"));
  await settle();
  expect(story).toEqual(["b refused: ledger"]);
  expect(bugs).toHaveLength(2);
});

test("whoever enters again when it is refused is served, and refused again", async () => {
  const { ledger, queue, story, waiter } = line();
  ledger.isBroken = true;
  queue.enter({ ...waiter("a"), refused: () => void queue.enter(waiter("a again")) });
  await settle();
  expect(story).toEqual(["a again refused: ledger"]);
});

test("a lease that is free is granted in no time, unless somebody waits already", async () => {
  const clock = new VirtualClock();
  const freeAtMs = [0, 1_000, 2_000];
  const ledger: Ledger = {
    heldBack: () => undefined,
    paceGapMs: () => 1_000,
    isLowered: () => false,
    take: () => {
      const untilMs = freeAtMs[0] ?? Infinity;
      if (clock.now() < untilMs) return { kind: "wait", untilMs, cause: "budget", budget: "api" };
      freeAtMs.shift();
      return { kind: "granted", lease: { isUsable: () => true, settle: () => {}, ended: () => {} } };
    },
    onChange: () => {},
  };
  const queue = new LeaseQueue(ledger, clock, () => {});
  const story: string[] = [];
  const enter = (name: string, dueMs: number): unknown =>
    queue.enter({
      ask: askOf(["api"]),
      dueMs,
      endsAtPause: false,
      granted: () => void story.push(`${name} at ${clock.now()}`),
      refused: () => {},
    });
  enter("first", 9_000);
  await clock.advance(0);
  expect(story).toEqual(["first at 0"]);
  enter("in an hour", 3_600_000);
  await clock.advance(1_000);
  enter("soon", 3_000);
  await clock.advance(1_000);
  expect(story).toEqual(["first at 0", "in an hour at 1000", "soon at 2000"]);
});

test("one that is too dear for what is left holds up neither the cheaper ones nor those that are free", async () => {
  const clock = new VirtualClock();
  const spend = { most: 100, perMs: 86_400_000, onExhaust: "stop" } as const;
  const rates = [{ requests: 60, perMs: 60_000, label: "1m" }];
  const ledger = new TestLedger(sampleConfig({ budgets: [sampleBudget({ rates, share: 1, spend })] }), clock);
  await clock.advance(120_000);
  const served: string[] = [];
  const reasons = new Map<number, HeldBack>();
  const queue = new LeaseQueue(ledger.inner, clock, (error) => {
    throw error;
  });
  const tickets = [200, 60, 60, 0].map((mostCost, index) =>
    queue.enter({
      ask: askOf(["api"], mostCost),
      dueMs: index,
      endsAtPause: false,
      granted: (lease) => {
        served.push(`${mostCost}`);
        lease.settle("answered");
        charge(lease, mostCost);
      },
      refused: () => {},
    }),
  );
  await clock.advance(10_000);
  expect(served.toSorted()).toEqual(["0", "60"]);
  for (const [index, ticket] of tickets.entries()) {
    if (index === 0 || index === 2) reasons.set(index, ticket?.withdraw() ?? { cause: "missed", budget: "" });
  }
  expect([...reasons.values()]).toMatchObject([
    { cause: "quota", budget: "api" },
    { cause: "quota", budget: "api" },
  ]);
});
