import * as fc from "fast-check";
import { expect, test } from "vitest";
import { LocalLedger } from "../../../src/core/budget/local-ledger.ts";
import {
  QuotaJournal,
  RESERVE_MS,
  type QuotaChanges,
  type QuotaRow,
} from "../../../src/core/budget/quota-journal.ts";
import { sampleBudget, sampleConfig } from "../../support/samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

const HOUR_MS = 3_600_000;

/** What a state file would hold. */
class FakeFile {
  readonly #counts = new Map<string, QuotaRow>();
  readonly #reserves = new Map<string, QuotaRow>();

  write({ counts, reserves }: QuotaChanges): void {
    for (const row of counts) this.#counts.set(`${row.budget} ${row.hour}`, row);
    for (const row of reserves) this.#reserves.set(row.budget, row);
  }

  get rows(): readonly QuotaRow[] {
    return [...this.#counts.values(), ...this.#reserves.values()];
  }

  get total(): number {
    return this.rows.reduce((sum, row) => sum + row.requests, 0);
  }

  latestFrom(hour: number): number {
    return this.rows.filter((row) => row.hour >= hour).reduce((sum, row) => sum + row.requests, 0);
  }
}

const QUOTA = { requests: 1_000, perMs: 100 * HOUR_MS };

const readings = (requests: number, paceGapMs = 5_000) =>
  new Map([["api", { buckets: new Map([[7, requests]]), paceGapMs, quota: QUOTA }]]);

test("only what changed is written, and all of it again after the file was lost", () => {
  const journal = new QuotaJournal();
  const reserve = { budget: "api", hour: 7, requests: 3 };
  const first = journal.changes(readings(10), 7 * HOUR_MS, false);
  expect(first).toEqual({ counts: [{ budget: "api", hour: 7, requests: 10 }], reserves: [reserve] });
  journal.written();
  expect(journal.changes(readings(10), 7 * HOUR_MS + 500, false)).toEqual({ counts: [], reserves: [] });
  expect(journal.changes(readings(9), 7 * HOUR_MS, false).counts).toEqual([
    { budget: "api", hour: 7, requests: 9 },
  ]);
  journal.forget();
  expect(journal.changes(readings(10), 7 * HOUR_MS, false)).toEqual(first);
});

test("what failed to be written is asked for again", () => {
  const journal = new QuotaJournal();
  journal.changes(readings(1), 7 * HOUR_MS, false);
  expect(journal.changes(readings(1), 7 * HOUR_MS, false).counts).toHaveLength(1);
});

test("a reserve stands in the latest hour that it may be needed in", () => {
  const journal = new QuotaJournal();
  const [early] = journal.changes(readings(1), 8 * HOUR_MS - RESERVE_MS - 1, false).reserves;
  const [late] = journal.changes(readings(1), 8 * HOUR_MS - RESERVE_MS, false).reserves;
  expect([early?.hour, late?.hour]).toEqual([7, 8]);
});

test("an orderly end takes the reserve back", () => {
  const journal = new QuotaJournal();
  journal.changes(readings(1), 7 * HOUR_MS, false);
  journal.written();
  expect(journal.changes(readings(1), 7 * HOUR_MS, true).reserves).toEqual([
    { budget: "api", hour: 7, requests: 0 },
  ]);
});

test("however often it is killed, what may have been sent never adds up to more than the quota", () => {
  const quota = { requests: 8, perMs: 100 * HOUR_MS };
  let counted = 6;
  for (let kills = 0; kills < 5; kills += 1) {
    const file = new FakeFile();
    const reading = { buckets: new Map([[7, counted]]), paceGapMs: 5_000, quota };
    file.write(new QuotaJournal().changes(new Map([["api", reading]]), 7 * HOUR_MS, false));
    counted = file.total;
  }
  expect(counted).toBe(8);
});

test("where old requests leave the quota soon, new ones may be sent, and are reserved", () => {
  const quota = { requests: 8, perMs: HOUR_MS };
  const reading = { buckets: new Map([[6, 8]]), paceGapMs: 5_000, quota };
  const reserved = (calendarMs: number) =>
    new QuotaJournal().changes(new Map([["api", reading]]), calendarMs, false).reserves[0]?.requests;
  expect(reserved(8 * HOUR_MS - RESERVE_MS - 1)).toBe(0);
  expect(reserved(8 * HOUR_MS - RESERVE_MS)).toBe(3);
});

/** A budget that sends as fast as its pace allows; a file that is flushed every half second, late by up to four. */
test("whenever it is killed, the file counts every request that was sent, and at most a reserve more", () => {
  const property = fc.property(
    fc.record({
      quotaRequests: fc.oneof(fc.constant(1_000_000), fc.integer({ min: 1, max: 300 })),
      quotaHours: fc.constantFrom(1, 2, 100),
      requests: fc.integer({ min: 1, max: 600 }),
      startMs: fc.integer({ min: 0, max: 2 * HOUR_MS }),
      killedAfterMs: fc.integer({ min: 0, max: 60_000 }),
      lateMs: fc.array(fc.integer({ min: 0, max: 4_000 }), { minLength: 1, maxLength: 8 }),
      isIdleBefore: fc.boolean(),
    }),
    ({ quotaRequests, quotaHours, requests, startMs, killedAfterMs, lateMs, isIdleBefore }) => {
      const clock = new VirtualClock({ nowMs: startMs, wallMs: startMs });
      const quota = {
        requests: quotaRequests,
        perMs: quotaHours * HOUR_MS,
        onExhaust: "stop",
        pricePerRequest: undefined,
      } as const;
      const rates = [{ requests, perMs: 60_000, label: "1m" }];
      const ledger = new LocalLedger(
        sampleConfig({ budgets: [sampleBudget({ rates, quota })], upstreams: [] }),
        clock,
      );
      const journal = new QuotaJournal();
      const file = new FakeFile();
      const sentAtMs: number[] = [];
      const read = () => {
        const { paceGapMs } = ledger.restraint(["api"]);
        return new Map([["api", { buckets: ledger.quotaBuckets("api") ?? new Map(), paceGapMs, quota }]]);
      };
      const reserve = Math.floor(RESERVE_MS / ledger.restraint(["api"]).paceGapMs) + 1;

      file.write(journal.changes(read(), clock.wallNow(), false));
      journal.written();
      let arriving: { readonly atMs: number; readonly changes: QuotaChanges } | undefined;
      let flushes = 0;
      for (let ms = 0; ms <= killedAfterMs; ms += 100) {
        clock.stall(100);
        if (arriving !== undefined && clock.now() >= arriving.atMs) {
          file.write(arriving.changes);
          journal.written();
          arriving = undefined;
        }
        if (!isIdleBefore || ms > 30_000) {
          const decision = ledger.take(["api"]);
          if (decision.kind === "granted") {
            sentAtMs.push(clock.wallNow());
            decision.lease.settle("answered");
          }
        }
        if (ms % 500 === 0 && arriving === undefined) {
          const changes = journal.changes(read(), clock.wallNow(), false);
          arriving = { atMs: clock.now() + (lateMs[flushes % lateMs.length] ?? 0), changes };
          flushes += 1;
        }
        // Not two expects: it is looked at a hundred thousand times.
        const isCounted = file.total >= sentAtMs.length && file.total <= sentAtMs.length + reserve;
        if (!isCounted) throw new Error(`${file.total} are counted where ${sentAtMs.length} were sent`);
      }
      // Nor does any of them expire too early.
      for (const hour of [0, 1, 2, 3]) {
        expect(file.latestFrom(hour)).toBeGreaterThanOrEqual(
          sentAtMs.filter((atMs) => atMs >= hour * HOUR_MS).length,
        );
      }
    },
  );
  fc.assert(property, { numRuns: 200 });
});
