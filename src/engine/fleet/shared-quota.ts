import { hourAfter, QUOTA_BUCKET_MS, QuotaCount, type QuotaBuckets } from "../../core/budget/quota.ts";
import type { UsageReport, SharedState } from "../../core/fleet/ledger-store.ts";

type Batch = UsageReport & { readonly isFirst: boolean };

/** What this replica sent, by hour, and what of it is not in the shared count yet. */
export class SharedQuota {
  readonly #own: QuotaCount;
  readonly #life: string;
  readonly #unreported = new Map<number, number>();
  /** Redis counted these before our first report: not to be reported again. */
  readonly #counted = new Map<number, number>();
  #batch: Batch | undefined;
  #batches = 0;

  constructor(restored: QuotaBuckets | undefined, life: string) {
    this.#own = new QuotaCount(restored);
    this.#life = life;
  }

  get buckets(): QuotaBuckets {
    return this.#own.buckets;
  }

  used(calendarMs: number, perMs: number, shared: SharedState | undefined): number {
    const own = this.#own.used(calendarMs, perMs);
    let unreported = 0;
    for (const requests of this.#unreported.values()) unreported += requests;
    if (this.#batch?.isFirst === false)
      for (const requests of this.#batch.byHour.values()) unreported += requests;
    return Math.max(own, (shared?.quotaUsed ?? 0) + unreported);
  }

  calendarSet(byMs: number, nowMs: number): void {
    this.#own.calendarSet(byMs, nowMs);
    for (const counts of [this.#unreported, this.#counted]) {
      const before = [...counts];
      counts.clear();
      for (const [hour, requests] of before) add(counts, hourAfter(hour, byMs, nowMs), requests);
    }
  }

  /** `shared`: the answer that came with the lease; undefined if Redis does not know of the request. */
  sent(calendarMs: number, amount: 1 | -1, shared: SharedState | undefined): void {
    this.#own.add(calendarMs, amount);
    const hour = Math.floor(calendarMs / QUOTA_BUCKET_MS);
    if (shared === undefined) add(this.#unreported, hour, amount);
    else if (!shared.hasReported) add(this.#counted, hour, amount);
  }

  /** The report to send now; the same one until it is acknowledged. */
  pending({ hasReported }: SharedState): UsageReport | undefined {
    if (this.#batch !== undefined && (this.#batch.isFirst || hasReported)) return this.#batch;
    if (!hasReported) return this.#begin(this.#all(), true);
    return this.#unreported.size === 0 ? undefined : this.#begin(new Map(this.#unreported), false);
  }

  acknowledged(report: UsageReport): void {
    if (this.#batch === report) this.#batch = undefined;
    this.#counted.clear();
  }

  #begin(byHour: ReadonlyMap<number, number>, isFirst: boolean): Batch {
    this.#unreported.clear();
    this.#batches += 1;
    this.#batch = { batch: `${this.#life}:${this.#batches}`, byHour, isFirst };
    return this.#batch;
  }

  #all(): ReadonlyMap<number, number> {
    return new Map(
      [...this.#own.buckets].map(([hour, requests]) => [hour, requests - (this.#counted.get(hour) ?? 0)]),
    );
  }
}

function add(counts: Map<number, number>, hour: number, amount: number): void {
  counts.set(hour, (counts.get(hour) ?? 0) + amount);
}
