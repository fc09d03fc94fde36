/**
 * What the state file must hold about quotas, ahead of time. After a crash it may count a few requests that were
 * never sent, but never one too few.
 *
 *      flush                    flush
 *        | n sent               | n + 2 sent
 *      --+------ x ------ x ----+--------------- time
 *        file: n + reserve      file: n + 2 + reserve
 *
 * Requests of a budget are at least one pace gap apart. So between one reading and the next that reaches the file,
 * at most ⌊time / gap⌋ + 1 are sent. The reserve is that number for `RESERVE_MS`, which is longer than two readings
 * in a row need to reach the file while the store is up. It is never more than what the quota still allows in that
 * time, so however often the process is killed, the reserves do not add up to more than the quota. A clean shutdown
 * takes the reserve back.
 */

import { QUOTA_BUCKET_MS, type QuotaBuckets, QuotaCount } from "./quota.ts";

export const RESERVE_MS = 10_000;

export type QuotaReading = {
  readonly buckets: QuotaBuckets;
  /** The least time between two of its requests. */
  readonly paceGapMs: number;
  readonly quota: { readonly requests: number; readonly perMs: number };
};

export type QuotaRow = { readonly budget: string; readonly hour: number; readonly requests: number };

export type QuotaChanges = {
  /** Sent, by hour. */
  readonly counts: readonly QuotaRow[];
  /** One for each budget, replacing the one before. */
  readonly reserves: readonly QuotaRow[];
};

type Known = { readonly counts: QuotaBuckets; readonly reserve: QuotaRow };

/** One at a time: changes are written or forgotten before the next are requested. */
export class QuotaJournal {
  /** By budget: what the file certainly holds. */
  #written: ReadonlyMap<string, Known> = new Map();
  #requested: ReadonlyMap<string, Known> = new Map();

  /** What the file does not hold yet. `calendarMs` is the ledger's: a stepped wall clock does not change a quota. */
  changes(readings: ReadonlyMap<string, QuotaReading>, calendarMs: number, isLast: boolean): QuotaChanges {
    const counts: QuotaRow[] = [];
    const reserves: QuotaRow[] = [];
    const requested = new Map<string, Known>();
    for (const [budget, reading] of readings) {
      const { buckets } = reading;
      const known = this.#written.get(budget);
      const before = counts.length;
      for (const [hour, requests] of buckets) {
        if (known?.counts.get(hour) !== requests) counts.push({ budget, hour, requests });
      }
      const reserve = { budget, ...reserveOf(reading, calendarMs, isLast) };
      const isSame = known?.reserve.hour === reserve.hour && known.reserve.requests === reserve.requests;
      if (!isSame) reserves.push(reserve);
      const isCounted = known !== undefined && counts.length === before;
      requested.set(budget, { counts: isCounted ? known.counts : new Map(buckets), reserve });
    }
    this.#requested = requested;
    return { counts, reserves };
  }

  written(): void {
    this.#written = this.#requested;
  }

  /** The file may be a new one: everything must be written again. */
  forget(): void {
    this.#written = new Map();
  }
}

/** In the latest hour in which it may be needed, so that it does not expire before the requests it stands for. */
function reserveOf(
  { buckets, paceGapMs, quota }: QuotaReading,
  calendarMs: number,
  isLast: boolean,
): Omit<QuotaRow, "budget"> {
  const untilMs = calendarMs + RESERVE_MS;
  const most = Math.floor(RESERVE_MS / paceGapMs) + 1;
  // By then, requests that are old now may no longer count.
  const left = Math.max(0, quota.requests - new QuotaCount(buckets).used(untilMs, quota.perMs));
  return { hour: Math.floor(untilMs / QUOTA_BUCKET_MS), requests: isLast ? 0 : Math.min(most, left) };
}
