import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TestLedger } from "../../support/test-ledger.ts";
import { type KeptQuotas, NOTHING_KEPT, quotasIn } from "../../../src/features/quota/quota.ts";
import { inPart } from "../../../src/features/quota/config.ts";
import type { BudgetRecord } from "../../../src/features/hints/record.ts";
import type { Budget, Config, Vantage } from "../../../src/kernel/config/config.ts";
import { capOf, limitFor } from "../../../src/kernel/config/part.ts";
import { slidingLog } from "../../../src/simulator/meters.ts";
import { RequestLedger } from "../../../src/simulator/request-ledger.ts";
import { sampleBudget, sampleConfig, sampleUpstream } from "../../support/kernel-samples.ts";
import { sampleAnswerHints } from "../../support/samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";
import { worlds } from "../../support/many.ts";

const TIMEOUT_MS = 2_000;
const WINDOW_MS = 10_000;
/** Whole window, timeout, and the margin for clocks. */
const FORGOTTEN_MS = (WINDOW_MS + TIMEOUT_MS) * 1.001;

function configOf(terms: Partial<Budget>, vantage: Vantage | undefined): Config {
  const budget = sampleBudget({ ...terms, ...(vantage && { vantage }) });
  return sampleConfig({
    budgets: [{ ...budget, quota: budget.quota && inPart(budget.quota, budget) }],
    upstreams: [sampleUpstream({ timeoutMs: TIMEOUT_MS })],
  });
}

/** One daemon after another at one place, with one state file or none. */
class Place {
  readonly #clock: VirtualClock;
  readonly #terms: Partial<Budget>;
  readonly #hasFile: boolean;
  #vantage: Vantage | undefined;
  #ledger: TestLedger;
  readonly countedAtMs: number[] = [];

  constructor(
    clock: VirtualClock,
    terms: Partial<Budget>,
    vantage: Vantage | undefined,
    hasFile = true,
    record?: BudgetRecord,
  ) {
    this.#clock = clock;
    this.#terms = terms;
    this.#vantage = vantage;
    this.#hasFile = hasFile;
    this.#ledger = this.#started(NOTHING_KEPT, record);
  }

  restart(vantage = this.#vantage): void {
    const { quotas } = this.#ledger;
    const record = this.record;
    this.#vantage = vantage;
    this.#ledger = this.#started(quotasIn([quotas]), this.#hasFile ? record : undefined);
  }

  reload(vantage: Vantage): void {
    this.#vantage = vantage;
    this.#ledger.change(configOf(this.#terms, vantage));
  }

  get record(): BudgetRecord | undefined {
    return this.#ledger.hints.recordOf("api");
  }

  /** The moment from which on a request may be sent, as it is known now. */
  get opensAtMs(): number {
    return this.#ledger.waitFor(["api"])?.untilMs ?? this.#clock.now();
  }

  /** As many as it may. Each is counted between its sending and its answer. */
  sendAll(countedAfterMs: number): number {
    let sent = 0;
    for (;;) {
      const decision = this.#ledger.take(["api"]);
      if (decision.kind === "wait") return sent;
      this.countedAtMs.push(this.#clock.now() + countedAfterMs);
      this.#clock.after(countedAfterMs, () => decision.lease.settle("answered"));
      sent += 1;
    }
  }

  hear(answerHints: Parameters<typeof sampleAnswerHints>[0]): void {
    this.#ledger.hints.heard(["api"], sampleAnswerHints(answerHints));
  }

  get cap(): number | undefined {
    return this.#ledger.inner.ratesOf("api")?.[0]?.cap;
  }

  #started(quotas: KeptQuotas, record: BudgetRecord | undefined): TestLedger {
    const records = new Map(record === undefined ? [] : [["api", record]]);
    return new TestLedger(configOf(this.#terms, this.#vantage), this.#clock, { quotas, budgets: records });
  }
}

function worstOf(places: readonly Place[], requests: number): number {
  const upstream = new RequestLedger([{ requests, perMs: WINDOW_MS }], slidingLog);
  for (const atMs of places.flatMap(({ countedAtMs }) => countedAtMs).toSorted((a, b) => a - b))
    upstream.count(atMs);
  return upstream.violations;
}

const LIMIT = fc.integer({ min: 3, max: 60 });
const SHARE = fc.integer({ min: 34, max: 100 }).map((percent) => percent / 100);

const rate = (requests: number) => [{ requests, perMs: WINDOW_MS, label: "10s" }];

describe("three vantages that each know only of themselves", () => {
  test("never send more together than the limit and the quota allow, however they are restarted", async () => {
    const step = fc.record({
      at: fc.nat({ max: 2 }),
      act: fc.constantFrom("send", "send", "send", "restart"),
      waitMs: fc.integer({ min: 0, max: 4_000 }),
      countedAfterMs: fc.integer({ min: 0, max: TIMEOUT_MS }),
    });
    const cases = fc.record({
      limit: LIMIT,
      share: SHARE,
      most: fc.integer({ min: 3, max: 90 }),
      steps: fc.array(step, { minLength: 30, maxLength: 150 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ limit, share, most, steps }) => {
        const clock = new VirtualClock();
        const quota = { most, perMs: 86_400_000, onExhaust: "stop" } as const;
        const terms = { rates: rate(limit), share, quota };
        fc.pre(capOf(limit, { share, vantage: { name: "a", of: 3 } }) >= 1);
        const places = ["a", "b", "c"].map((name, index) => {
          return new Place(clock, terms, { name, of: 3 }, index > 0);
        });
        await clock.advance(FORGOTTEN_MS + 1);
        for (const { at, act, waitMs, countedAfterMs } of steps) {
          if (act === "restart") places[at]?.restart();
          else places[at]?.sendAll(countedAfterMs);
          await clock.advance(waitMs);
        }
        expect(worstOf(places, limit)).toBe(0);
        const sent = places.reduce((sum, { countedAtMs }) => sum + countedAtMs.length, 0);
        expect(sent).toBeLessThanOrEqual(most);
      }),
      { numRuns: worlds(100) },
    );
  });

  test("use what one alone would: little is lost by dividing", () => {
    fc.assert(
      fc.property(LIMIT, SHARE, fc.integer({ min: 1, max: 9 }), (limit, share, of) => {
        const part = capOf(limit, { share, vantage: { name: "a", of } });
        const whole = capOf(limit, { share });
        expect(part * of).toBeLessThanOrEqual(whole);
        expect(part * of).toBeGreaterThan(whole - of - Math.ceil(share * of));
        expect(
          capOf(limitFor(part, { share, vantage: { name: "a", of } }), { share, vantage: { name: "a", of } }),
        ).toBe(part);
      }),
    );
  });

  test("a further one joins after the others made room, and one that leaves is replaced at once", async () => {
    await fc.assert(
      fc.asyncProperty(LIMIT, SHARE, fc.boolean(), async (limit, share, isReload) => {
        const clock = new VirtualClock();
        const terms = { rates: rate(limit), share };
        fc.pre(capOf(limit, { share, vantage: { name: "a", of: 3 } }) >= 1);
        const running = ["a", "b"].map((name) => new Place(clock, terms, { name, of: 2 }));
        const all = [...running];
        const busy = async (forMs: number, places: readonly Place[]): Promise<void> => {
          for (let passedMs = 0; passedMs < forMs; passedMs += 250) {
            for (const place of places) place.sendAll(100);
            await clock.advance(250);
          }
        };
        const change = (name: "a" | "b", of: number): void => {
          const place = running[name === "a" ? 0 : 1];
          if (isReload) place?.reload({ name, of });
          else place?.restart({ name, of });
        };
        await busy(40_000, running);
        // In the order that the docs ask for: first those that run, then the new one, and no wait between.
        change("a", 3);
        change("b", 3);
        const third = new Place(clock, terms, { name: "c", of: 3 });
        all.push(third);
        await busy(60_000, all);
        expect(third.countedAtMs.length).toBeGreaterThan(0);
        // It ends, and what was its part goes to the others.
        change("a", 2);
        change("b", 2);
        await busy(40_000, running);
        expect(worstOf(all, limit)).toBe(0);
      }),
      { numRuns: worlds(20) },
    );
  });
});

describe("a vantage at its start", () => {
  const TERMS = { rates: rate(60), share: 0.2 };
  const PACE_MS = (WINDOW_MS / 4) * 1.001;

  async function polled(vantage: Vantage | undefined, hasFile = true) {
    const clock = new VirtualClock();
    const place = new Place(clock, TERMS, vantage, hasFile);
    await clock.advance(FORGOTTEN_MS + 1);
    expect(place.sendAll(0)).toBe(1);
    await clock.advance(1);
    return { clock, place, waitMs: () => place.opensAtMs - clock.now() };
  }

  test("waits for a whole window where it is new, or nothing tells that it is not", async () => {
    const clock = new VirtualClock();
    expect(new Place(clock, TERMS, { name: "eu", of: 3 }).opensAtMs).toBeCloseTo(FORGOTTEN_MS, 6);
    const { place, waitMs } = await polled({ name: "eu", of: 3 }, false);
    place.restart();
    expect(waitMs()).toBeCloseTo(FORGOTTEN_MS, 6);
  });

  test("waits for one pace gap, by its part, where the state file tells that it was this one", async () => {
    const { place, waitMs } = await polled({ name: "eu", of: 3 });
    place.restart();
    expect(waitMs()).toBeCloseTo(PACE_MS, 6);
    // One that was killed before it sent anything makes nobody wait for longer.
    place.restart();
    expect(waitMs()).toBeCloseTo(PACE_MS, 6);
  });

  test.each<readonly [string, Vantage | undefined, Vantage | undefined]>([
    ["another number of them", { name: "eu", of: 3 }, { name: "eu", of: 2 }],
    ["another name", { name: "eu", of: 3 }, { name: "us", of: 3 }],
    ["none before", undefined, { name: "eu", of: 3 }],
    ["none any more", { name: "eu", of: 3 }, undefined],
  ])(
    "waits for a whole window after a restart with %s, however often it is killed then",
    async (_, before, after) => {
      const clock = new VirtualClock();
      const place = new Place(clock, TERMS, before);
      await clock.advance(FORGOTTEN_MS + 1);
      place.sendAll(0);
      const next = new Place(clock, TERMS, after, true, place.record);
      expect(next.opensAtMs - clock.now()).toBeCloseTo(FORGOTTEN_MS, 6);
      await clock.advance(5_000);
      next.restart(after);
      expect(next.opensAtMs - clock.now()).toBeCloseTo(FORGOTTEN_MS, 6);
      await clock.advance(FORGOTTEN_MS + 1);
      next.sendAll(0);
      next.restart(after);
      expect(next.opensAtMs - clock.now()).toBeLessThan(FORGOTTEN_MS / 2);
    },
  );

  test("waits for a whole window after a reload with another number, and so does a restart soon after it", async () => {
    const { clock, place, waitMs } = await polled({ name: "eu", of: 2 });
    place.reload({ name: "eu", of: 3 });
    expect(waitMs()).toBeCloseTo(FORGOTTEN_MS, 6);
    await clock.advance(5_000);
    place.restart();
    expect(waitMs()).toBeCloseTo(FORGOTTEN_MS, 6);
  });
});

describe("what an upstream tells is told to all vantages", () => {
  async function warm(): Promise<{ readonly clock: VirtualClock; readonly place: Place }> {
    const clock = new VirtualClock();
    const place = new Place(clock, { rates: rate(60), share: 0.5, yieldBelow: 0 }, { name: "eu", of: 3 });
    await clock.advance(FORGOTTEN_MS + 1);
    return { clock, place };
  }

  test("so a limit that it advertises is divided", async () => {
    const { place } = await warm();
    expect(place.cap).toBe(10);
    place.hear({ throttled: true, limits: [{ requests: 31, perMs: WINDOW_MS }] });
    expect(place.cap).toBe(5);
  });

  test("by its word alone, the part is not lowered below what one poll a period needs", async () => {
    const clock = new VirtualClock();
    const terms = { rates: [{ requests: 600, perMs: 60_000, label: "1m" }], share: 0.5 };
    const place = new Place(clock, terms, { name: "eu", of: 3 });
    await clock.advance(80_000);
    place.hear({ limits: [{ requests: 6, perMs: 60_000 }] });
    // Every 15 s, and a slow poll holds its lease for a little longer than a window.
    expect(place.cap).toBe(5);
  });

  test("so of the requests that are left it sends its part, and then no more", async () => {
    const { clock, place } = await warm();
    place.hear({ remaining: { requests: 10, limit: 60, resetMs: 60_000 } });
    let sent = 0;
    for (let passedMs = 0; passedMs < 30_000; passedMs += 100) {
      sent += place.sendAll(0);
      await clock.advance(100);
    }
    expect(sent).toBe(3);
  });
});
