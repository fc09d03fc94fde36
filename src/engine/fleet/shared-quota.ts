import { QUOTA_BUCKET_MS, QuotaCount, type QuotaBuckets } from "../../core/budget/quota.ts";
import type { UsageReport, SharedState } from "../../core/fleet/shared-terms.ts";

type Batch = UsageReport & { readonly isFirst: boolean };

/** What this replica sent, by hour, and how much of it the fleet's own count does not know yet. */
export class SharedQuota {
  readonly #own: QuotaCount;
  readonly #life: string;
  readonly #unknown = new Map<number, number>();
  /** Counted there before we told of ourselves: not to be told again. */
  readonly #known = new Map<number, number>();
  #batch: Batch | undefined;
  #batches = 0;

  constructor(restored: QuotaBuckets | undefined, life: string) {
    this.#own = new QuotaCount(restored);
    this.#life = life;
  }

  get buckets(): QuotaBuckets {
    return this.#own.buckets;
  }

  used(calendarMs: number, perMs: number, there: SharedState | undefined): number {
    const own = this.#own.used(calendarMs, perMs);
    let unknown = 0;
    for (const requests of this.#unknown.values()) unknown += requests;
    if (this.#batch?.isFirst === false)
      for (const requests of this.#batch.byHour.values()) unknown += requests;
    return Math.max(own, (there?.quotaUsed ?? 0) + unknown);
  }

  /** `there`: what was answered with the lease; undefined where nobody else knows of it. */
  sent(calendarMs: number, amount: 1 | -1, there: SharedState | undefined): void {
    this.#own.add(calendarMs, amount);
    const hour = Math.floor(calendarMs / QUOTA_BUCKET_MS);
    if (there === undefined) add(this.#unknown, hour, amount);
    else if (!there.hasReported) add(this.#known, hour, amount);
  }

  /** What is to be told now; the same until it is known to have arrived. */
  pending({ hasReported }: SharedState): UsageReport | undefined {
    if (this.#batch !== undefined && (this.#batch.isFirst || hasReported)) return this.#batch;
    if (!hasReported) return this.#begin(this.#all(), true);
    return this.#unknown.size === 0 ? undefined : this.#begin(new Map(this.#unknown), false);
  }

  acknowledged(contribution: UsageReport): void {
    if (this.#batch === contribution) this.#batch = undefined;
    this.#known.clear();
  }

  #begin(byHour: ReadonlyMap<number, number>, isFirst: boolean): Batch {
    this.#unknown.clear();
    this.#batches += 1;
    this.#batch = { batch: `${this.#life}:${this.#batches}`, byHour, isFirst };
    return this.#batch;
  }

  #all(): ReadonlyMap<number, number> {
    return new Map(
      [...this.#own.buckets].map(([hour, requests]) => [hour, requests - (this.#known.get(hour) ?? 0)]),
    );
  }
}

function add(counts: Map<number, number>, hour: number, amount: number): void {
  counts.set(hour, (counts.get(hour) ?? 0) + amount);
}
