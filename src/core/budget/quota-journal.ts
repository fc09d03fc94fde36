/**
 * What the state file must hold about quotas: every request before it leaves. So however this process is killed, none
 * is missing after it, and too many are counted only by those that were in flight.
 *
 *      claim      lease       request ends
 *        | written  |               |  written
 *      --+---+------+---------------+----+------- time
 *        file: n + 1 unconfirmed         file: n + 1, or n if nothing was sent
 *
 * A claim that got no lease is taken back.
 */

import { QUOTA_BUCKET_MS, type QuotaBuckets } from "./quota.ts";

/** Longer than a claim waits for its lease: the request is counted in an hour that does not expire before its own. */
export const CLAIM_MS = 10_000;

export type QuotaReading = {
  /** Raised whenever anything of it has changed. */
  readonly version: number;
  /** Requests by hour, those of earlier processes included. Counted from their lease on. */
  readonly buckets: QuotaBuckets;
  /** Those of them that were in flight when an earlier process was killed. */
  readonly unconfirmed: QuotaBuckets;
  /** Those of them that are in flight now. */
  readonly inFlight: number;
  /** Asked for now, and without a lease. */
  readonly claimed: number;
  readonly calendarMs: number;
};

/** `requests` includes those that are unconfirmed: they may have been sent, or not. */
export type QuotaRow = {
  readonly budget: string;
  readonly hour: number;
  readonly requests: number;
  readonly unconfirmed: number;
};

/** `claimedIn`: the hour in which claims are counted, if there are any. */
type Known = { readonly version: number; readonly claimedIn: number | undefined };

/** One at a time: changes are written or forgotten before the next are requested. */
export class QuotaJournal {
  /** By budget: what the file certainly holds. */
  readonly #written = new Map<string, { known: Known; readonly byHour: Map<number, QuotaRow> }>();
  #requested: { readonly known: ReadonlyMap<string, Known>; readonly rows: readonly QuotaRow[] } = {
    known: new Map(),
    rows: [],
  };

  /** What the file does not hold yet. */
  changes(readings: ReadonlyMap<string, QuotaReading>): readonly QuotaRow[] {
    const known = new Map<string, Known>();
    const rows: QuotaRow[] = [];
    for (const [budget, reading] of readings) {
      const { version, claimed, calendarMs } = reading;
      const before = this.#written.get(budget);
      if (before?.known.version === version) continue;
      const claimedIn = claimed > 0 ? Math.floor((calendarMs + CLAIM_MS) / QUOTA_BUCKET_MS) : undefined;
      known.set(budget, { version, claimedIn });
      for (const row of rowsOf(budget, reading, [before?.known.claimedIn, claimedIn])) {
        const { requests, unconfirmed } = before?.byHour.get(row.hour) ?? {};
        if (requests !== row.requests || unconfirmed !== row.unconfirmed) rows.push(row);
      }
    }
    this.#requested = { known, rows };
    return rows;
  }

  written(): void {
    for (const [budget, known] of this.#requested.known) {
      const before = this.#written.get(budget);
      if (before === undefined) this.#written.set(budget, { known, byHour: new Map() });
      else before.known = known;
    }
    for (const row of this.#requested.rows) this.#written.get(row.budget)?.byHour.set(row.hour, row);
  }

  /** The file may be a new one: everything must be written again. */
  forget(): void {
    this.#written.clear();
  }
}

/** Claims are in one hour: where they were before, they are taken back. */
function rowsOf(
  budget: string,
  { buckets, unconfirmed, inFlight, claimed }: QuotaReading,
  [claimedBefore, claimedIn]: readonly [number | undefined, number | undefined],
): readonly QuotaRow[] {
  const hours = new Set(buckets.keys());
  for (const hour of [claimedBefore, claimedIn]) if (hour !== undefined) hours.add(hour);
  let left = inFlight;
  return [...hours]
    .toSorted((a, b) => b - a)
    .map((hour) => {
      const counted = buckets.get(hour) ?? 0;
      const earlier = Math.min(counted, unconfirmed.get(hour) ?? 0);
      // The newest requests are those in flight.
      const open = Math.min(left, counted - earlier);
      left -= open;
      const asked = hour === claimedIn ? claimed : 0;
      return { budget, hour, requests: counted + asked, unconfirmed: earlier + open + asked };
    });
}
