import { hourAfter, type OpenRequest, type QuotaCount } from "../../core/budget/quota.ts";
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

  constructor(own: QuotaCount, life: string) {
    this.#own = own;
    this.#life = life;
  }

  get unconfirmed(): number | undefined {
    return this.#own.unconfirmed;
  }

  isSpent(shared: SharedState | undefined): boolean {
    return (this.used(shared) ?? 0) >= (this.#own.limit?.requests ?? Infinity);
  }

  /** Undefined for a budget without a quota. */
  used(shared: SharedState | undefined): number | undefined {
    const own = this.#own.used;
    if (own === undefined) return undefined;
    let unreported = 0;
    for (const requests of this.#unreported.values()) unreported += requests;
    if (this.#batch?.isFirst === false)
      for (const requests of this.#batch.byHour.values()) unreported += requests;
    return Math.max(own, (shared?.quotaUsed ?? 0) + unreported);
  }

  /** After what this replica sent was moved. */
  calendarSet(byMs: number, nowMs: number): void {
    for (const counts of [this.#unreported, this.#counted]) {
      const before = [...counts];
      counts.clear();
      for (const [hour, requests] of before) add(counts, hourAfter(hour, byMs, nowMs), requests);
    }
  }

  /** `shared`: the answer that came with the lease; undefined if Redis does not know of the request. Returns what ends it. */
  send(shared: SharedState | undefined): (wasSent: boolean) => void {
    const request = this.#own.send();
    this.#tell(request, 1, shared);
    return (wasSent) => {
      if (!wasSent) this.#tell(request, -1, shared);
      this.#own.end(request, wasSent);
    };
  }

  #tell({ hour }: OpenRequest, amount: 1 | -1, shared: SharedState | undefined): void {
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
