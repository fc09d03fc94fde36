import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Quota } from "../../../src/proof/part.ts";
import { type Note, type NoteHome, notesOf } from "../../../src/kernel/text/notes.ts";
import type { Lease } from "../../../src/kernel/budget/ledger.ts";
import { charge, TestLedger } from "../../support/test-ledger.ts";
import { type QuotaKey, quotaNotes, type QuotaRow, quotasIn } from "../../../src/features/quota/quota.ts";
import { type BudgetRecord, HELD } from "../../../src/features/hints/record.ts";
import { sampleBudget, sampleConfig, sampleUpstream } from "../../support/kernel-samples.ts";
import { sampleAnswerHints } from "../../support/samples.ts";
import { settle, VirtualClock } from "../../support/virtual/clock.ts";
import { worlds } from "../../support/many.ts";

const HOUR_MS = 3_600_000;
const API = { budget: "api", of: "requests" } as const;
const PAID = { budget: "paid", of: "money" } as const;

/** What outlives a process, written as late as it is told to. */
class Disk {
  readonly #notes = new Map<string, Note>();

  write(notes: readonly Note[]): void {
    for (const note of notes) this.#notes.set(`${note.kind} ${note.key}`, note);
  }

  get records(): ReadonlyMap<string, BudgetRecord> {
    return notesOf(HELD, [{ notes: [...this.#notes.values()] }]);
  }

  get rows(): readonly QuotaRow[] {
    return quotasIn([{ notes: [...this.#notes.values()] }]).rows;
  }

  total({ budget, of }: QuotaKey, what: "requests" | "unconfirmed" = "requests", fromHour = 0): number {
    let total = 0;
    for (const row of this.rows)
      if (row.budget === budget && row.of === of && row.hour >= fromHour) total += row[what];
    return total;
  }
}

/** Answers when it is told to, and what it is told to. */
class SlowFile implements NoteHome {
  readonly #disk: Disk;
  readonly #answered: ((isWritten: boolean) => void)[] = [];
  #notes: readonly Note[] = [];

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  write(notes: readonly Note[]): Promise<boolean> {
    if (this.#answered.length > 0) throw new Error("it was called before it had answered");
    this.#notes = notes;
    return new Promise((resolve) => void this.#answered.push(resolve));
  }

  /** A write that fails may be on the disk all the same. */
  async finish(how: "written" | "failed" | "unknown" = "written"): Promise<void> {
    await settle();
    if (how !== "failed") this.#disk.write(this.#notes);
    this.#notes = [];
    this.#answered.pop()?.(how === "written");
    await settle();
  }
}

class Process {
  readonly file: SlowFile;
  readonly ledger: TestLedger;

  constructor(disk: Disk, clock: VirtualClock, quotaRequests: number) {
    const quota = {
      most: quotaRequests,
      perMs: 100 * HOUR_MS,
      onExhaust: "stop",
    } as const;
    const rates = [{ requests: 60, perMs: 60_000, label: "1m" }];
    const budgets = [
      sampleBudget({ name: "api", share: 1, rates, quota }),
      sampleBudget({ name: "free", share: 1, rates }),
      sampleBudget({ name: "paid", share: 1, rates, spend: { ...quota, most: 1_000 } }),
    ];
    const config = sampleConfig({ budgets, upstreams: [] });
    this.file = new SlowFile(disk);
    this.ledger = new TestLedger(config, clock, {
      quotas: { rows: disk.rows, lostHours: [] },
      budgets: disk.records,
      homes: [this.file],
    });
  }

  async granted(budget = "api", mostCost = 0): Promise<Lease> {
    const asked = this.ledger.ask([budget], mostCost);
    await this.file.finish();
    const decision = await asked;
    if (decision.kind === "wait") throw new Error(`it has to wait: ${decision.cause}`);
    return decision.lease;
  }
}

function scene(quotaRequests = 100): { disk: Disk; clock: VirtualClock; start: () => Process } {
  const disk = new Disk();
  const clock = new VirtualClock({ nowMs: 7 * HOUR_MS, wallMs: 7 * HOUR_MS });
  const start = (): Process => {
    const process = new Process(disk, clock, quotaRequests);
    clock.stall(120_000);
    return process;
  };
  return { disk, clock, start };
}

describe("a request that costs money", () => {
  test("has all that it may cost in the file before its lease, and once it is charged what it did cost", async () => {
    const { disk, clock, start } = scene();
    const process = start();
    const lease = await process.granted("paid", 300);
    const spent = (what: "requests" | "unconfirmed"): number => disk.total(PAID, what);
    expect([spent("requests"), spent("unconfirmed")]).toEqual([300, 300]);
    lease.settle("answered");
    await process.file.finish();
    expect([spent("requests"), spent("unconfirmed")]).toEqual([300, 300]);
    charge(lease, 40);
    await process.file.finish();
    await process.file.finish();
    expect([spent("requests"), spent("unconfirmed")]).toEqual([40, 0]);
    clock.stall(2_000);
    (await process.granted("paid", 300)).settle("unsent");
    await process.file.finish();
    await process.file.finish();
    expect(spent("requests")).toBe(40);
  });

  test("is charged what it did cost also where its price says that it costs nothing at most", async () => {
    const { disk, start } = scene();
    const process = start();
    const lease = await process.granted("paid", 0);
    lease.settle("answered");
    charge(lease, 1_000);
    await process.file.finish();
    expect(disk.total(PAID)).toBe(1_000);
    expect(process.ledger.isQuotaSpent(["paid"], 1)).toBe(true);
  });

  test("keeps all that it might have cost where its process is killed, and is not sent where that is too much", async () => {
    const { clock, start } = scene();
    await start().granted("paid", 300);
    clock.stall(2_000);
    const next = start();
    expect(next.ledger.quotas.of("paid", "money")).toMatchObject({ used: 300, unconfirmed: 300 });
    await next.granted("paid", 600);
    expect(await next.ledger.ask(["paid"], 101)).toMatchObject({
      kind: "wait",
      cause: "quota",
      budget: "paid",
    });
  });
});

describe("a request of a budget with a quota", () => {
  test("has no lease before it is in the file", async () => {
    const { disk, start } = scene();
    const { ledger, file } = start();
    let isGranted = false;
    const asked = Promise.resolve(ledger.ask(["api"])).then(() => (isGranted = true));
    await settle();
    expect([isGranted, ledger.inner.ratesOf("api")?.[0]?.leases]).toEqual([false, 0]);
    await file.finish();
    await asked;
    expect([isGranted, disk.total(API), disk.total(API, "unconfirmed")]).toEqual([true, 1, 1]);
  });

  test("is confirmed once it has ended, and counts no more where nothing was sent", async () => {
    const { disk, clock, start } = scene();
    const process = start();
    (await process.granted()).settle("answered");
    await process.file.finish();
    expect([disk.total(API), disk.total(API, "unconfirmed")]).toEqual([1, 0]);
    clock.stall(5_000);
    (await process.granted()).settle("unsent");
    await process.file.finish();
    expect([disk.total(API), disk.total(API, "unconfirmed")]).toEqual([1, 0]);
  });

  test("that gets no lease is taken back at once", async () => {
    const { disk, start } = scene();
    const process = start();
    await process.granted();
    const second = process.ledger.ask(["api"]);
    await settle();
    await process.file.finish();
    expect(await second).toMatchObject({ kind: "wait", cause: "budget" });
    await process.file.finish();
    expect(disk.total(API)).toBe(1);
  });

  test("that was in flight at a kill is told apart for as long as it counts", async () => {
    const { disk, clock, start } = scene();
    const first = start();
    (await first.granted()).settle("answered");
    await first.file.finish();
    clock.stall(5_000);
    await first.granted();
    for (let life = 0; life < 5; life += 1) {
      const { ledger, file } = start();
      expect(ledger.quotas.of("api", "requests")).toMatchObject({ used: 2, unconfirmed: 1 });
      await file.finish();
    }
    const next = start();
    clock.stall(101 * HOUR_MS);
    expect(next.ledger.quotas.of("api", "requests")).toMatchObject({ used: 0, unconfirmed: 0 });
    expect(disk.total(API)).toBe(2);
  });

  test("is not asked for beyond the quota, also by two at once", async () => {
    const { disk, start } = scene(1);
    const { ledger, file } = start();
    const asked = [ledger.ask(["api"]), ledger.ask(["api"])];
    await file.finish();
    const decisions = await Promise.all(asked.map((each) => Promise.resolve(each)));
    expect(decisions).toMatchObject([{ kind: "granted" }, { kind: "wait", cause: "quota", budget: "api" }]);
    await file.finish();
    expect(disk.total(API)).toBe(1);
    for (let life = 0; life < 5; life += 1) {
      expect(await start().ledger.ask(["api"])).toMatchObject({ kind: "wait", cause: "quota" });
      expect(disk.total(API)).toBe(1);
    }
  });
});

describe("a quota by a wall clock that the monotonic clock does not keep up with", () => {
  /** Polls now and then, so that it is known how long the clocks disagree. */
  function passHours(process: Process, clock: VirtualClock, hours: number): void {
    for (let passed = 0; passed < hours * 12; passed += 1) {
      clock.stall(HOUR_MS / 12);
      process.ledger.quotas.calendar.now();
    }
  }

  /** All that there is now: what is being written may be older. */
  async function write({ file }: Process): Promise<void> {
    await file.finish();
    await file.finish();
  }

  test("counts what a machine sent after it was suspended for its whole window, also after a restart", async () => {
    const { disk, clock, start } = scene();
    const process = start();
    clock.stepWall(90 * HOUR_MS);
    (await process.granted()).settle("answered");
    passHours(process, clock, 1);
    await write(process);
    expect(disk.total(API)).toBe(1);
    clock.stall(20 * HOUR_MS);
    expect(start().ledger.quotas.of("api", "requests")?.used).toBe(1);
    clock.stall(100 * HOUR_MS);
    const last = start();
    expect(last.ledger.quotas.of("api", "requests")?.used).toBe(1);
    passHours(last, clock, 1);
    expect(last.ledger.quotas.of("api", "requests")?.used).toBe(0);
  });

  test("is not sent again where the clock is ahead at the start, and is set right later", async () => {
    const { disk, clock, start } = scene(1);
    clock.stepWall(1_000 * HOUR_MS);
    (await start().granted()).settle("answered");
    clock.stepWall(960 * HOUR_MS);
    const { ledger } = new Process(disk, clock, 1);
    const isSpent = (): boolean => ledger.isQuotaSpent(["api"]);
    expect(isSpent()).toBe(true);
    clock.stall(120_000);
    clock.stepWall(-960 * HOUR_MS);
    for (let passed = 0; passed < 12; passed += 1) {
      expect(isSpent()).toBe(true);
      clock.stall(HOUR_MS / 6);
    }
    // The clock was right: the request leaves the quota when it should.
    expect(ledger.quotas.calendar.now()).toBe(clock.wallNow());
    clock.stall(100 * HOUR_MS);
    expect(isSpent()).toBe(false);
  });

  test("counts what was sent before the time was known, and forgets what an earlier process sent", async () => {
    const disk = new Disk();
    const clock = new VirtualClock({ nowMs: 0, wallMs: 2_000 });
    const realMs = 1_790_000_000_000;
    const hour = Math.floor(realMs / HOUR_MS) - 1;
    disk.write(quotaNotes({ rows: [{ ...API, hour, requests: 50, unconfirmed: 0 }], lostHours: [] }));
    const process = new Process(disk, clock, 100);
    clock.stall(120_000);
    (await process.granted()).settle("answered");
    clock.stepWall(realMs);
    passHours(process, clock, 1);
    expect(process.ledger.quotas.of("api", "requests")?.used).toBe(51);
    await write(process);
    expect(disk.total(API, "requests", hour)).toBe(51);
    expect(disk.total(API)).toBe(51);
    clock.stall(110 * HOUR_MS);
    expect(process.ledger.quotas.of("api", "requests")?.used).toBe(0);
  });
});

describe("a quota of a process that was killed before it believed the time", () => {
  const TODAY_MS = 1_790_000_000_000;
  const today = Math.floor(TODAY_MS / HOUR_MS);

  async function killedIn1970(): Promise<Disk> {
    const disk = new Disk();
    const clock = new VirtualClock({ nowMs: 0, wallMs: 2_000 });
    for (let life = 0; life < 2; life += 1) {
      const process = new Process(disk, clock, 100);
      clock.stall(120_000);
      (await process.granted()).settle("answered");
      await process.file.finish();
    }
    expect(disk.total(API)).toBe(2);
    return disk;
  }

  test("counts in the next life as if it had been sent just now, once, however often that is killed", async () => {
    const disk = await killedIn1970();
    const clock = new VirtualClock({ nowMs: 0, wallMs: TODAY_MS });
    for (let life = 0; life < 3; life += 1) {
      const { ledger, file } = new Process(disk, clock, 100);
      expect(ledger.quotas.of("api", "requests")?.used).toBe(2);
      await file.finish();
      expect(disk.total(API, "requests", today)).toBe(2);
    }
    const last = new Process(disk, clock, 100);
    clock.stall(102 * HOUR_MS);
    expect(last.ledger.quotas.of("api", "requests")?.used).toBe(0);
  });

  test("counts where the next life begins in 1970 too, and the clock is set while it runs", async () => {
    const disk = await killedIn1970();
    const clock = new VirtualClock({ nowMs: 0, wallMs: 2_000 });
    const process = new Process(disk, clock, 100);
    clock.stepWall(TODAY_MS);
    process.ledger.quotas.calendar.settle();
    expect(process.ledger.quotas.of("api", "requests")?.used).toBe(2);
    await process.file.finish();
    expect(disk.total(API, "requests", today)).toBe(2);
  });

  test("is used up where nobody knows what was counted", async () => {
    const disk = new Disk();
    disk.write(
      quotaNotes({ rows: [{ ...API, hour: 0, requests: Infinity, unconfirmed: Infinity }], lostHours: [] }),
    );
    const { ledger, file } = new Process(disk, new VirtualClock({ wallMs: TODAY_MS }), 100);
    expect(ledger.quotas.of("api", "requests")?.used).toBe(100);
    await file.finish();
    expect(disk.rows.map(({ hour, requests }) => [hour, requests])).toEqual([
      [0, 0],
      [today, Infinity],
    ]);
  });
});

test("a budget that leaves the config while a request waits for the file grants nothing, and breaks nothing", async () => {
  const { start } = scene();
  const { ledger, file } = start();
  const asked = ledger.ask(["api"]);
  await settle();
  ledger.change(sampleConfig({ budgets: [sampleBudget({ name: "other" })], upstreams: [] }));
  await file.finish();
  expect(await asked).toMatchObject({ kind: "wait", cause: "ledger", budget: "api" });
});

test("a budget that gets a spend while a request waits for the file has that in the file too before the lease", async () => {
  const { disk, start } = scene();
  const { ledger, file } = start();
  const asked = ledger.ask(["api"], 300);
  await settle();
  const quota = { most: 100, perMs: HOUR_MS, onExhaust: "stop" } as const;
  const budgets = [sampleBudget({ quota, spend: { ...quota, most: 1_000 } })];
  ledger.change(sampleConfig({ budgets, upstreams: [] }));
  expect(disk.total({ budget: "api", of: "money" })).toBe(0);
  // The row of the new quota may be on its way beside the first one.
  for (let batch = 0; batch < 3; batch += 1) await file.finish();
  expect(await asked).toMatchObject({ kind: "granted" });
  expect([disk.total(API), disk.total({ budget: "api", of: "money" })]).toEqual([1, 300]);
});

test("a refusal pauses whoever asks through the file, and its end is told to who waits", async () => {
  const { clock, start } = scene();
  const { ledger } = start();
  const heard: string[] = [];
  ledger.onChange((budget) => heard.push(budget));
  ledger.hints.heard(["api"], sampleAnswerHints({ throttled: true }));
  expect(ledger.hints.pausedUntilMs(["api"])).toBe(clock.now() + 60_000);
  ledger.hints.resume("api");
  expect(ledger.hints.pausedUntilMs(["api"])).toBeLessThanOrEqual(clock.now());
  expect(heard).toEqual(["api"]);
});

test("a budget without a quota waits for no file", async () => {
  const { start } = scene();
  expect(start().ledger.ask(["free"])).toMatchObject({ kind: "granted" });
});

type Step =
  | { readonly kind: "take" | "written" | "killed" }
  | { readonly kind: "ends"; readonly how: "answered" | "unanswered" | "unsent" }
  | { readonly kind: "passes"; readonly ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom("take" as const, "written" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("ends" as const),
      how: fc.constantFrom("answered" as const, "unanswered" as const, "unsent" as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("passes" as const),
      ms: fc.constantFrom(500, 1_200, 120_000, HOUR_MS - 5_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("killed" as const) }) },
);

test("whenever it is killed, none that was sent is missing, and too many are only those that it had asked for", async () => {
  const property = fc.asyncProperty(
    fc.array(step, { minLength: 5, maxLength: 120 }),
    fc.constantFrom(3, 100),
    async (steps, quotaRequests) => {
      const { disk, clock, start } = scene(quotaRequests);
      let process = start();
      let open: { readonly lease: Lease; readonly atMs: number }[] = [];
      let asking = 0;
      let sentAtMs: number[] = [];
      /** What was taken back before the last batch was read, and since: it is not in the file yet. */
      let takenBack = { before: 0, since: 0 };
      /** What the kills have added. */
      let spare = 0;
      for (const each of steps) {
        if (each.kind === "take") {
          const { ledger } = process;
          asking += 1;
          const asked = Promise.resolve(ledger.ask(["api"]));
          void asked.then((decision) => {
            if (ledger !== process.ledger) return;
            asking -= 1;
            if (decision.kind === "wait") {
              takenBack.since += 1;
              return;
            }
            // The worst of moments: it is on the wire as soon as it is granted.
            open.push({ lease: decision.lease, atMs: clock.wallNow() });
            sentAtMs.push(clock.wallNow());
          });
        } else if (each.kind === "written") {
          takenBack = { before: takenBack.since, since: 0 };
          await process.file.finish();
        } else if (each.kind === "passes") {
          clock.stall(each.ms);
        } else if (each.kind === "ends") {
          const ended = open.shift();
          ended?.lease.settle(each.how);
          if (ended !== undefined && each.how === "unsent") {
            sentAtMs = sentAtMs.filter((atMs) => atMs !== ended.atMs);
            takenBack.since += 1;
          }
        } else {
          spare += asking + takenBack.before + takenBack.since;
          takenBack = { before: 0, since: 0 };
          open = [];
          asking = 0;
          process = start();
        }
        await settle();
        const total = disk.total(API);
        expect(total).toBeGreaterThanOrEqual(sentAtMs.length);
        const most = sentAtMs.length + asking + takenBack.before + takenBack.since + spare;
        expect(total).toBeLessThanOrEqual(Math.min(most, quotaRequests));
        expect(disk.total(API, "unconfirmed")).toBeLessThanOrEqual(total);
        // Nor does any of them leave the quota too early.
        const fromHour = Math.floor(clock.wallNow() / HOUR_MS) - 1;
        expect(disk.total(API, "requests", fromHour)).toBeGreaterThanOrEqual(
          sentAtMs.filter((atMs) => atMs >= fromHour * HOUR_MS).length,
        );
      }
    },
  );
  await fc.assert(property, { numRuns: worlds(100) });
});

type Spending =
  | { readonly kind: "take"; readonly most: number; readonly cost: number }
  | { readonly kind: "told" | "untold" | "unsent" | "written" | "failed" | "unknown" | "killed" }
  | { readonly kind: "reload"; readonly how: "as it was" | "without" | "more" }
  | { readonly kind: "passes"; readonly ms: number };

const spending: fc.Arbitrary<Spending> = fc.oneof(
  {
    weight: 4,
    // The price changes from poll to poll, as by reloads.
    arbitrary: fc
      .tuple(fc.constantFrom(0, 100, 300), fc.constantFrom(0.5, 1))
      .map(([most, part]) => ({ kind: "take" as const, most, cost: most * part })),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "written" as const,
        "written" as const,
        "written" as const,
        "failed" as const,
        "unknown" as const,
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom("told" as const, "untold" as const, "unsent" as const) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("passes" as const),
      // Hours, days and the end of a month pass.
      ms: fc.constantFrom(1_200, 2_400, 3_600, HOUR_MS / 2, 33 * HOUR_MS, 40 * HOUR_MS),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.oneof(
      fc.constant({ kind: "killed" as const }),
      fc.record({
        kind: fc.constant("reload" as const),
        how: fc.constantFrom("as it was" as const, "without" as const, "more" as const),
      }),
    ),
  },
);

test("however often it is killed and reloaded, and whatever its home answers, no period has a bill above the spend, nor more requests than the quota", async () => {
  const [SPEND, QUOTA] = [1_000, 9];
  type Billed = {
    readonly lease: Lease;
    readonly atMs: number;
    readonly most: number;
    readonly cost: number;
  };
  const limit = { perMs: 100 * HOUR_MS, onExhaust: "stop" } as const;
  const rates = [{ requests: 60, perMs: 60_000, label: "1m" }];
  const [quota, spend] = [
    { ...limit, most: QUOTA },
    { ...limit, most: SPEND },
  ];
  const paid = sampleBudget({ name: "paid", share: 1, rates, spend, quota });
  const other = sampleBudget({ name: "other", share: 1, rates, quota });
  const configs = {
    "as it was": sampleConfig({ budgets: [paid], upstreams: [] }),
    without: sampleConfig({ budgets: [other], upstreams: [] }),
    more: sampleConfig({ budgets: [paid, other], upstreams: [] }),
  };
  const property = fc.asyncProperty(fc.array(spending, { minLength: 60, maxLength: 120 }), async (steps) => {
    const disk = new Disk();
    // Two days before the end of a month.
    const wallMs = Date.UTC(2026, 10, 29);
    const clock = new VirtualClock({ nowMs: 7 * HOUR_MS, wallMs });
    const start = (): { file: SlowFile; ledger: TestLedger } => {
      const file = new SlowFile(disk);
      const quotas = { rows: disk.rows, lostHours: [] };
      const ledger = new TestLedger(configs["as it was"], clock, { quotas, homes: [file] });
      clock.stall(120_000);
      return { file, ledger };
    };
    let process = start();
    let open: Billed[] = [];
    let budgets: keyof typeof configs = "as it was";
    const bills = new Set<Billed>();
    const ask = async (most: number, cost: number): Promise<void> => {
      const { ledger } = process;
      const decision = await ledger.ask(["paid"], most);
      if (ledger !== process.ledger || decision.kind === "wait") return;
      // The worst of moments: it is billed as soon as it is granted.
      const billed = { lease: decision.lease, atMs: clock.wallNow(), most, cost };
      bills.add(billed);
      open.push(billed);
    };
    const end = (how: "told" | "untold" | "unsent"): void => {
      const ended = open.shift();
      if (ended === undefined) return;
      if (how === "unsent") bills.delete(ended);
      ended.lease.settle(how === "told" ? "answered" : how === "untold" ? "unanswered" : how);
      if (how !== "unsent") charge(ended.lease, how === "told" ? ended.cost : ended.most);
    };
    for (const each of steps) {
      if (each.kind === "take") {
        if (budgets !== "without") void ask(each.most, each.cost);
      } else if (each.kind === "written" || each.kind === "failed" || each.kind === "unknown")
        await process.file.finish(each.kind);
      else if (each.kind === "passes") clock.stall(each.ms);
      else if (each.kind === "reload") {
        budgets = each.how;
        process.ledger.change(configs[budgets]);
        clock.stall(120_000);
      } else if (each.kind === "killed") {
        open = [];
        budgets = "as it was";
        process = start();
      } else end(each.kind);
      await settle();
      const sinceMs = clock.wallNow() - 100 * HOUR_MS;
      const inPeriod = [...bills].filter(({ atMs }) => atMs > sinceMs);
      expect(inPeriod.reduce((sum, { cost }) => sum + cost, 0)).toBeLessThanOrEqual(SPEND);
      expect(inPeriod.length).toBeLessThanOrEqual(QUOTA);
    }
  });
  await fc.assert(property, { numRuns: worlds(100) });
});

test("a request that is sent as an hour ends, and counted as late as it may be, leaves the quota no earlier", () => {
  const clock = new VirtualClock({ nowMs: 7 * HOUR_MS, wallMs: 7 * HOUR_MS });
  const quota = { most: 1, perMs: 100 * HOUR_MS, onExhaust: "stop" } as const;
  const config = sampleConfig({
    budgets: [sampleBudget({ share: 1, lingerMs: 5_000, quota })],
    upstreams: [sampleUpstream({ timeoutMs: 10_000 })],
  });
  const ledger = new TestLedger(config, clock);
  clock.stall(HOUR_MS - 1_000);
  const decision = ledger.take(["api"]);
  clock.stall(10_000);
  if (decision.kind === "granted") decision.lease.settle("unanswered");
  // It was counted now at the latest.
  clock.stall(5_000);
  clock.stall(100 * HOUR_MS - 1);
  expect(ledger.isQuotaSpent(["api"])).toBe(true);
  clock.stall(2_000);
  expect(ledger.isQuotaSpent(["api"])).toBe(false);
});

describe("nothing is counted of a budget without a quota, and a count is known as long as its quota would need it:", () => {
  const quota = { most: 10, perMs: 100 * HOUR_MS, onExhaust: "stop" } as const;
  const configOf = (...budgets: readonly { readonly name: string; readonly quota?: Quota }[]) =>
    sampleConfig({ budgets: budgets.map((each) => sampleBudget({ ...each, share: 1 })), upstreams: [] });
  const used = ({ quotas }: TestLedger, budget = "api"): number | undefined =>
    quotas.of(budget, "requests")?.used;
  const send = (ledger: TestLedger, ...budgets: readonly string[]): void => {
    const decision = ledger.take(budgets);
    if (decision.kind !== "granted") throw new Error("it must be granted");
    decision.lease.settle("answered");
  };

  test("what was sent before a quota came is not in it", () => {
    const clock = new VirtualClock();
    const ledger = new TestLedger(configOf({ name: "free" }), clock);
    clock.stall(120_000);
    send(ledger, "free");
    expect(ledger.quotas.of("free", "requests")).toBeUndefined();
    ledger.change(configOf({ name: "free", quota }));
    clock.stall(120_000);
    send(ledger, "free");
    expect(used(ledger, "free")).toBe(1);
  });

  test("what is sent while it is away is, as it may come back", () => {
    const clock = new VirtualClock();
    const ledger = new TestLedger(configOf({ name: "api", quota }), clock);
    clock.stall(120_000);
    send(ledger, "api");
    ledger.change(configOf({ name: "api" }));
    clock.stall(120_000);
    send(ledger, "api");
    ledger.change(configOf());
    ledger.change(configOf({ name: "api", quota }));
    expect(used(ledger)).toBe(2);
  });

  test("one that was used is forgotten when it counts no more, one that was not at once", () => {
    const clock = new VirtualClock();
    const ledger = new TestLedger(configOf({ name: "api", quota }, { name: "unused", quota }), clock);
    clock.stall(120_000);
    send(ledger, "api");
    ledger.change(configOf());
    expect([ledger.quotas.of("api", "requests"), ledger.quotas.of("unused", "requests")]).toEqual([
      expect.anything(),
      undefined,
    ]);
    clock.stall(102 * HOUR_MS);
    ledger.change(configOf());
    expect(ledger.quotas.of("api", "requests")).toBeUndefined();
  });
});
