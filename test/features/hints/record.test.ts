import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { AnswerHints } from "../../../src/features/hints/fields/answer-hints.ts";
import { type Note, type NoteHome, notesOf } from "../../../src/kernel/text/notes.ts";
import { TestLedger } from "../../support/test-ledger.ts";
import { PAUSES, UpstreamPauses } from "../../../src/features/hints/pauses.ts";
import {
  type BudgetRecord,
  HELD,
  type Held,
  heldOf,
  NOTHING_HELD,
  recordOf,
} from "../../../src/features/hints/record.ts";
import { BudgetHints } from "../../../src/features/hints/budget-hints.ts";
import type { Budget } from "../../../src/kernel/config/config.ts";
import { sampleBudget, sampleConfig, sampleUpstream } from "../../support/kernel-samples.ts";
import { sampleAnswerHints } from "../../support/samples.ts";
import { settle, VirtualClock } from "../../support/virtual/clock.ts";

const MINUTE_MS = 60_000;
const MAX_PAUSE_MS = 600_000;
const NOW = { nowMs: 5_000, wallMs: 1_800_000_000_000 };

function pauseFor(forMs: number): AnswerHints {
  return sampleAnswerHints({ throttled: true, pause: { forMs, scope: "budget", source: "retry_after" } });
}

/** What outlives a process. `finish` ends the writing of what was kept until then. */
class File implements NoteHome {
  readonly records = new Map<string, BudgetRecord>();
  #waiting: (() => void)[] = [];

  write(notes: readonly Note[]): Promise<boolean> {
    const written: readonly Note[] = JSON.parse(JSON.stringify(notes));
    for (const [budget, record] of notesOf(HELD, [{ notes: written }])) this.records.set(budget, record);
    return new Promise((resolve) => void this.#waiting.push(() => resolve(true)));
  }

  finish(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function configOf(...names: readonly string[]): ReturnType<typeof sampleConfig> {
  const budgets = names.map((name) => sampleBudget({ name, maxPauseMs: MAX_PAUSE_MS }));
  return sampleConfig({ budgets, upstreams: [sampleUpstream({ name: "email", budgets: names })] });
}

function life(file: File, clock: VirtualClock, ...names: readonly string[]): TestLedger {
  const ledger = new TestLedger(configOf(...names), clock, { budgets: file.records, homes: [file] });
  clock.stall(2 * MINUTE_MS);
  return ledger;
}

describe("after a restart", () => {
  test("a pause goes on until it would have ended", async () => {
    const file = new File();
    const clock = new VirtualClock();
    life(file, clock, "api").hints.heard(["api"], pauseFor(5 * MINUTE_MS));
    await settle();
    const next = life(file, clock, "api");
    expect(next.hints.pausedUntilMs(["api"]) - clock.now()).toBeCloseTo(3 * MINUTE_MS, -1);
    expect(next.take(["api"])).toMatchObject({ kind: "wait", cause: "backoff" });
  });

  test("back-off goes on doubling", async () => {
    const file = new File();
    const clock = new VirtualClock();
    const refusal = sampleAnswerHints({ throttled: true });
    const first = life(file, clock, "api");
    first.hints.heard(["api"], refusal);
    await settle();
    const firstMs = first.hints.pausedUntilMs(["api"]) - clock.now();
    const next = life(file, clock, "api");
    next.hints.heard(["api"], refusal);
    expect(next.hints.pausedUntilMs(["api"]) - clock.now()).toBe(2 * firstMs);
  });

  test("a limit that was lowered stays lowered for its window", () => {
    const hints = new BudgetHints(sampleBudget());
    const [rate] = sampleBudget().rates;
    if (rate === undefined) throw new Error("a budget has a rate");
    const limits = [{ requests: 5, perMs: rate.perMs }];
    hints.apply(sampleAnswerHints({ limits }), NOW.nowMs);
    const next = new BudgetHints(sampleBudget());
    const later = { nowMs: 0, wallMs: NOW.wallMs + rate.perMs - 1 };
    next.adopt(heldOf(recordOf(hints.held, NOW), later, MAX_PAUSE_MS));
    expect(next.capOf(rate, 20, 0)).toBe(hints.capOf(rate, 20, NOW.nowMs));
    expect(next.capOf(rate, 20, 30_000)).toBe(20);
  });

  test("a pause goes along with the upstreams to a budget that was renamed meanwhile", async () => {
    const file = new File();
    const clock = new VirtualClock();
    life(file, clock, "api").hints.heard(["api"], pauseFor(5 * MINUTE_MS));
    await settle();
    const next = life(file, clock, "renamed");
    expect(next.hints.pausedUntilMs(["renamed"]) - clock.now()).toBeCloseTo(3 * MINUTE_MS, -1);
    const third = life(file, clock, "renamed", "api");
    expect(third.hints.pausedUntilMs(["api"]) - clock.now()).toBeCloseTo(MINUTE_MS, -1);
  });

  test("the pause of one upstream goes on", () => {
    const clock = new VirtualClock();
    const notes: Note[] = [];
    const first = new UpstreamPauses(clock, new Map(), (note) => void notes.push(note));
    first.pause("email", MINUTE_MS);
    first.pause("email", 1_000);
    clock.stall(20_000);
    const next = new UpstreamPauses(clock, notesOf(PAUSES, [{ notes: notes.slice(-1) }]));
    expect(next.untilMs("email") - clock.now()).toBe(40_000);
    next.capAt("email", 10_000);
    expect(next.untilMs("email") - clock.now()).toBe(10_000);
    expect(next.notes).toEqual([{ kind: "pause", key: "email", json: clock.wallNow() + 10_000 }]);
  });
});

test("a pause that an operator ends after a restart is over in the file too", async () => {
  const file = new File();
  const clock = new VirtualClock();
  const asked = sampleAnswerHints({
    pause: { forMs: 5 * MINUTE_MS, scope: "budget", source: "retry_after" },
  });
  life(file, clock, "api").hints.heard(["api"], asked);
  await settle();
  const next = life(file, clock, "api");
  next.hints.resume("api");
  file.finish();
  await settle();
  expect(file.records.get("api")?.pausedUntilMs).toBe(0);
});

test("however many budgets come and go, those that still pause are known, and of the others the newest", () => {
  const clock = new VirtualClock();
  const windows = [{ key: "requests", limit: 60, perMs: MINUTE_MS, from: "policy" as const }];
  const untilMs = clock.wallNow() + 5 * MINUTE_MS;
  const left = new Map<string, BudgetRecord>([
    ["paused", { ...NOTHING_HELD, pausedUntilMs: untilMs, windows }],
    ["free", { ...NOTHING_HELD, windows }],
  ]);
  const ledger = new TestLedger(configOf("api"), clock, { budgets: left });
  for (let reload = 0; reload < 600; reload += 1) ledger.change(configOf(`generated-${reload}`));
  ledger.change(configOf("paused", "free"));
  expect(ledger.hints.pausedUntilMs(["paused"])).toBe(clock.now() + 5 * MINUTE_MS);
  expect(ledger.hints.recordOf("paused")?.windows).toEqual(windows);
  expect(ledger.hints.recordOf("free")?.windows).toEqual([]);
});

test("what an answer asks for is in the file before the next request of its budget", async () => {
  const file = new File();
  const clock = new VirtualClock();
  const ledger = life(file, clock, "api", "ai");
  ledger.hints.heard(["api"], pauseFor(1_000));
  clock.stall(2_000);
  expect(ledger.take(["ai"])).toMatchObject({ kind: "granted" });
  let isGranted = false;
  const asked = Promise.resolve(ledger.ask(["api"])).then(({ kind }) => (isGranted = kind === "granted"));
  await settle();
  expect(isGranted).toBe(false);
  file.finish();
  await asked;
  expect(isGranted).toBe(true);
});

test("an answer that changes nothing is not waited for", () => {
  const file = new File();
  const clock = new VirtualClock();
  const ledger = life(file, clock, "api");
  ledger.hints.heard(["api"], sampleAnswerHints());
  expect(ledger.take(["api"])).toMatchObject({ kind: "granted" });
});

test("a pause that runs is not shortened where a reload lowers max_pause: the stricter counts", () => {
  const clock = new VirtualClock();
  const upstream = sampleUpstream({ name: "email", budgets: ["api"] });
  const of = (maxPauseMs: number): ReturnType<typeof sampleConfig> =>
    sampleConfig({ budgets: [sampleBudget({ name: "api", maxPauseMs })], upstreams: [upstream] });
  const ledger = new TestLedger(of(10 * MINUTE_MS), clock);
  ledger.polling.equip(upstream);
  ledger.hints.pause("email", 5 * MINUTE_MS);
  ledger.hints.heard(["api"], pauseFor(5 * MINUTE_MS));
  const untilMs = clock.now() + 5 * MINUTE_MS;
  ledger.change(of(MINUTE_MS));
  ledger.polling.equip(upstream);
  expect(ledger.hints.upstreamPausedUntilMs("email")).toBe(untilMs);
  expect(ledger.hints.pausedUntilMs(["api"])).toBe(untilMs);
});

test("by a reload, a pause goes along with the upstreams: to a budget of another name, and back", () => {
  const clock = new VirtualClock();
  const ledger = new TestLedger(configOf("api"), clock);
  ledger.hints.heard(["api"], pauseFor(5 * MINUTE_MS));
  const untilMs = ledger.hints.pausedUntilMs(["api"]);
  ledger.change(configOf("renamed"));
  expect(ledger.hints.pausedUntilMs(["renamed"])).toBeCloseTo(untilMs, -1);
  ledger.change(configOf("other"));
  ledger.change(configOf("api"));
  expect(ledger.hints.pausedUntilMs(["api"])).toBeCloseTo(untilMs, -1);
});

test("a pause that is heard of only after a reload holds for the budget's new name, and is in the file", async () => {
  const clock = new VirtualClock();
  const file = new File();
  const ledger = new TestLedger(configOf("api"), clock, { homes: [file] });
  ledger.change(configOf("renamed"));
  ledger.change(configOf("again"));
  ledger.hints.heard(["api"], pauseFor(5 * MINUTE_MS));
  const untilMs = clock.now() + 5 * MINUTE_MS;
  expect(ledger.hints.pausedUntilMs(["again"])).toBeCloseTo(untilMs, -1);
  await settle();
  expect(file.records.get("again")?.pausedUntilMs).toBeGreaterThan(0);
});

describe("a pause that is heard of only after a reload, where upstreams moved between two budgets before", () => {
  const configWith = (budgetOf: Readonly<Record<string, string>>): ReturnType<typeof sampleConfig> =>
    sampleConfig({
      budgets: [...new Set(Object.values(budgetOf))].map((name) => sampleBudget({ name })),
      upstreams: Object.entries(budgetOf).map(([name, budget]) =>
        sampleUpstream({ name, budgets: [budget] }),
      ),
    });

  test("holds for the new name of its budget, and for no other", () => {
    const clock = new VirtualClock();
    const ledger = new TestLedger(configWith({ email: "api", sms: "api" }), clock);
    ledger.change(configWith({ email: "ai", sms: "api" }));
    ledger.change(configWith({ email: "ai", sms: "renamed" }));
    ledger.hints.heard(["api"], pauseFor(5 * MINUTE_MS));
    expect(ledger.hints.pausedUntilMs(["renamed"])).toBe(clock.now() + 5 * MINUTE_MS);
    expect(ledger.hints.pausedUntilMs(["ai"])).toBeLessThanOrEqual(clock.now());
  });

  test("holds for the one into which both went, though an upstream moved to and fro", () => {
    const clock = new VirtualClock();
    const ledger = new TestLedger(configWith({ email: "api", sms: "api", llm: "ai" }), clock);
    ledger.change(configWith({ email: "ai", sms: "api", llm: "ai" }));
    ledger.change(configWith({ email: "api", sms: "api", llm: "ai" }));
    ledger.change(configWith({ email: "both", sms: "both", llm: "both" }));
    ledger.hints.heard(["api"], pauseFor(5 * MINUTE_MS));
    expect(ledger.hints.pausedUntilMs(["both"])).toBe(clock.now() + 5 * MINUTE_MS);
  });
});

describe("where a config has more budgets than are remembered of those that left", () => {
  const MANY = 600;
  const named = (before: string): ReturnType<typeof sampleConfig> => {
    const numbers = [...Array(MANY).keys()];
    return sampleConfig({
      budgets: numbers.map((number) => sampleBudget({ name: `${before}-${number}` })),
      upstreams: numbers.map((number) =>
        sampleUpstream({ name: `email-${number}`, budgets: [`${before}-${number}`] }),
      ),
    });
  };

  test("each takes up what the file says of it", async () => {
    const clock = new VirtualClock();
    const learned = { key: "a", limit: 60, perMs: MINUTE_MS, from: "resets" } as const;
    const budgets = new Map(
      named("api").budgets.map(({ name }) => [name, { ...NOTHING_HELD, windows: [learned] }]),
    );
    const file = new File();
    const ledger = new TestLedger(named("api"), clock, { budgets, homes: [file] });
    ledger.change(named("api"));
    await settle();
    const taken = [...file.records.values()].filter(({ windows }) => windows.length === 1);
    expect(taken).toHaveLength(MANY);
  });

  test("all of them may be renamed at once, with answers on their way", () => {
    const clock = new VirtualClock();
    const ledger = new TestLedger(named("api"), clock);
    ledger.change(named("renamed"));
    for (const { name } of named("api").budgets) ledger.hints.heard([name], pauseFor(5 * MINUTE_MS));
    const paused = named("renamed").budgets.filter(
      ({ name }) => ledger.hints.pausedUntilMs([name]) > clock.now(),
    );
    expect(paused).toHaveLength(MANY);
  });
});

test("a budget that other upstreams draw on inherits nothing", () => {
  const clock = new VirtualClock();
  const budgets = ["api", "ai"].map((name) => sampleBudget({ name }));
  const of = (...names: readonly string[]): Pick<ReturnType<typeof sampleConfig>, "upstreams"> => ({
    upstreams: names.map((name) => sampleUpstream({ name, budgets: [name === "llm" ? "ai" : "api"] })),
  });
  const ledger = new TestLedger(sampleConfig({ budgets, ...of("email") }), clock);
  ledger.hints.heard(["api"], pauseFor(MINUTE_MS));
  ledger.change(sampleConfig({ budgets, ...of("email", "llm") }));
  expect(ledger.hints.pausedUntilMs(["ai"])).toBeLessThanOrEqual(clock.now());
});

const until = fc.integer({ min: -100_000, max: 100_000_000 });
const lowered = fc.record({
  perMs: fc.integer({ min: 1_000, max: 3_600_000 }),
  requests: fc.nat(),
  untilMs: until,
});
const anyHeld: fc.Arbitrary<Held> = fc.record({
  pausedUntilMs: until,
  yieldUntilMs: until,
  refusals: fc.nat(30),
  refusedUntilMs: until,
  lowered: fc.array(lowered, { maxLength: 4 }),
  unadvertised: fc.option(lowered, { nil: undefined }),
  windows: fc.array(
    fc.record({
      key: fc.string({ maxLength: 200 }),
      limit: fc.option(fc.nat(), { nil: undefined }),
      perMs: fc.integer({ min: 1_000, max: 3_600_000 }),
      from: fc.constantFrom("policy" as const, "resets" as const, "refills" as const),
    }),
    { maxLength: 32 },
  ),
});

test("a record is small, and however the wall clock was set, nothing of it lasts longer than it may", () => {
  fc.assert(
    fc.property(anyHeld, fc.integer({ min: 0, max: 4e12 }), (held, wallMs) => {
      const record: BudgetRecord = JSON.parse(JSON.stringify(recordOf(held, NOW)));
      expect(JSON.stringify({ ...record, windows: [] }).length).toBeLessThan(600);
      const next = heldOf(record, { nowMs: 0, wallMs }, MAX_PAUSE_MS);
      expect(Math.max(next.pausedUntilMs, next.yieldUntilMs, next.refusedUntilMs)).toBeLessThanOrEqual(
        MAX_PAUSE_MS,
      );
      for (const limit of next.lowered) expect(limit.untilMs).toBeLessThanOrEqual(limit.perMs + 10_000);
    }),
    { numRuns: 300 },
  );
});

test("of the windows that were learned the latest six are kept, but none of a name without end", () => {
  const windowOf = (key: string): Held["windows"][number] => ({
    key,
    limit: 60,
    perMs: 60_000,
    from: "policy",
  });
  const kept = (...keys: readonly string[]): readonly string[] =>
    recordOf({ ...NOTHING_HELD, windows: keys.map(windowOf) }, NOW).windows.map(({ key }) => key);
  expect(kept("a", "b")).toEqual(["a", "b"]);
  expect(kept("a", "b", "c", "d", "e", "f", "g", "h")).toEqual(["c", "d", "e", "f", "g", "h"]);
  expect(kept("a", "k".repeat(80), "k".repeat(81))).toEqual(["a", "k".repeat(80)]);
});

test("where the wall clock goes on, nothing of a record ends sooner than it should", () => {
  const budget: Budget = sampleBudget({ maxPauseMs: 1e9 });
  fc.assert(
    fc.property(anyHeld, fc.nat(1_000_000), (held, goneMs) => {
      const now = { nowMs: 77, wallMs: NOW.wallMs + goneMs };
      const next = heldOf(recordOf(held, NOW), now, budget.maxPauseMs);
      const lasts = (untilMs: number): number => untilMs - NOW.nowMs - goneMs + now.nowMs;
      const names = ["pausedUntilMs", "yieldUntilMs", "refusedUntilMs"] as const;
      const shortened = names.filter(
        (name) => lasts(held[name]) > now.nowMs && next[name] < lasts(held[name]),
      );
      expect(shortened).toEqual([]);
    }),
    { numRuns: 300 },
  );
});
