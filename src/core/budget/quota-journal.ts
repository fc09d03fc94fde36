/**
 * What the state file must know of the quotas, ahead of time: after a crash it may have counted a few requests
 * that were never sent, and never one too few.
 *
 *      flush                    flush
 *        | n sent               | n + 2 sent
 *      --+------ x ------ x ----+--------------- time
 *        file: n + reserve      file: n + 2 + reserve
 *
 * Requests of a budget are at least one pace gap apart, so between a reading and the next one that reaches the
 * file, at most ⌊time / gap⌋ + 1 are sent. The reserve is that number for `RESERVE_MS`: longer than it takes, while
 * the store is up, for two readings in a row to reach the file. An orderly end takes the reserve back.
 */

import { QUOTA_BUCKET_MS, type QuotaBuckets } from "./quota.ts";

export const RESERVE_MS = 10_000;

export type QuotaReading = {
  readonly buckets: QuotaBuckets;
  /** The least time between two of its requests. */
  readonly paceGapMs: number;
};

export type QuotaRow = { readonly budget: string; readonly hour: number; readonly requests: number };

export type QuotaChanges = {
  /** Sent, by hour. */
  readonly counts: readonly QuotaRow[];
  /** One for each budget, in place of the one before. */
  readonly reserves: readonly QuotaRow[];
};

type Known = { readonly counts: QuotaBuckets; readonly reserve: QuotaRow };

/** One at a time: changes are written, or forgotten, before the next are asked for. */
export class QuotaJournal {
  /** By budget: what the file holds for sure. */
  #written: ReadonlyMap<string, Known> = new Map();
  #asked: ReadonlyMap<string, Known> = new Map();

  /** What the file does not hold yet. `calendarMs` is the ledger's own: a stepped wall clock moves no quota. */
  changes(readings: ReadonlyMap<string, QuotaReading>, calendarMs: number, isLast: boolean): QuotaChanges {
    const counts: QuotaRow[] = [];
    const reserves: QuotaRow[] = [];
    const asked = new Map<string, Known>();
    for (const [budget, { buckets, paceGapMs }] of readings) {
      const known = this.#written.get(budget);
      const before = counts.length;
      for (const [hour, requests] of buckets) {
        if (known?.counts.get(hour) !== requests) counts.push({ budget, hour, requests });
      }
      const reserve = { budget, ...reserveOf(paceGapMs, calendarMs, isLast) };
      const isSame = known?.reserve.hour === reserve.hour && known.reserve.requests === reserve.requests;
      if (!isSame) reserves.push(reserve);
      const isCounted = known !== undefined && counts.length === before;
      asked.set(budget, { counts: isCounted ? known.counts : new Map(buckets), reserve });
    }
    this.#asked = asked;
    return { counts, reserves };
  }

  written(): void {
    this.#written = this.#asked;
  }

  /** The file may be another one now: everything must be written again. */
  forget(): void {
    this.#written = new Map();
  }
}

/** In the latest hour that it may be needed in, so that it does not expire before those that it stands for. */
function reserveOf(paceGapMs: number, calendarMs: number, isLast: boolean): Omit<QuotaRow, "budget"> {
  const hour = Math.floor((calendarMs + RESERVE_MS) / QUOTA_BUCKET_MS);
  return { hour, requests: isLast ? 0 : Math.floor(RESERVE_MS / paceGapMs) + 1 };
}
