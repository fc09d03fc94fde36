import type { QuotaBuckets, QuotaCount } from "../../core/budget/quota.ts";
import type { Draw, Quotas } from "../../core/budget/quotas.ts";
import type { Quota } from "../../core/config/config.ts";
import type { Drawn, DrawRequest, FleetBoard } from "../../core/fleet/board.ts";
import { hourOf } from "../../core/time/duration.ts";

export type QuotaDrawsParts = {
  readonly board: FleetBoard;
  readonly quotas: Quotas;
  readonly ttlMs: number;
  /** Whose counts these are: those of a budget that has one holder at a time are continued by the next one. */
  readonly name: string;
  /** In units of the quota, what all polls ask for, and the most that one of them does. */
  readonly demandOf: (count: QuotaCount) => { readonly perSecond: number; readonly most: number };
  readonly onBug: (error: unknown) => void;
};

/** So far ahead of what is sent a quota is drawn on: a killed replica wastes as much. */
const TTLS_AHEAD = 2;

/**
 * Quotas that outlive their holders: each hour's count is on the board before its requests leave, so that whoever takes
 * over counts them too. They are drawn ahead of need, so that no poll waits for it.
 */
export class QuotaDraws {
  readonly #parts: QuotaDrawsParts;
  readonly #drawn = new Map<QuotaCount, Drawn>();
  readonly #asking = new Map<QuotaCount, Promise<void>>();

  constructor(parts: QuotaDrawsParts) {
    this.#parts = parts;
  }

  /** Undefined where it has no limit. */
  usedOf(count: QuotaCount): number | undefined {
    const { used } = count;
    return used === undefined || this.#parts.name === ""
      ? used
      : Math.max(used, this.#drawn.get(count)?.total ?? 0);
  }

  /** Whether one more request is on the board already. */
  isDrawn({ count, units }: Draw): boolean {
    const { limit, buckets } = count;
    if (limit === undefined) return true;
    const hour = this.#hour;
    return (buckets.get(hour) ?? 0) + units <= (this.#drawn.get(count)?.own.get(hour) ?? 0);
  }

  /** What is left for all is less than one more request takes, and so is what was drawn for this hour. */
  isSpent(draw: Draw): boolean {
    const { limit } = draw.count;
    const drawn = this.#drawn.get(draw.count);
    if (limit === undefined || drawn === undefined || this.isDrawn(draw)) return false;
    return limit.most - drawn.total < draw.units;
  }

  /** Its earlier holders' counts are on the board: until they are known, nothing is sent. */
  begin(count: QuotaCount): void {
    this.#drawn.delete(count);
    void this.draw(count).catch(this.#parts.onBug);
  }

  /** One call at a time for each quota. */
  async draw(count: QuotaCount): Promise<void> {
    const asking = this.#asking.get(count) ?? this.#draw(count).finally(() => this.#asking.delete(count));
    this.#asking.set(count, asking);
    await asking;
  }

  /** What was drawn and not sent goes back. */
  async end(count: QuotaCount): Promise<void> {
    const { limit, buckets } = count;
    const drawn = this.#drawn.get(count);
    this.#drawn.delete(count);
    if (limit === undefined || drawn === undefined) return;
    await this.#asking.get(count);
    await this.#ask(count, limit, usedOf(drawn, buckets, Infinity), new Map());
  }

  get #hour(): number {
    return hourOf(this.#parts.quotas.calendar.now());
  }

  #ask(
    { key }: QuotaCount,
    { most, perMs }: Quota,
    used: DrawRequest["used"],
    upTo: DrawRequest["upTo"],
  ): Promise<Drawn | undefined> {
    const { board, quotas, name } = this.#parts;
    const oldestHour = hourOf(quotas.calendar.now() - perMs);
    return board.draw({ quota: key, name, limit: most, oldestHour, used, upTo });
  }

  async #draw(count: QuotaCount): Promise<void> {
    const { limit } = count;
    if (limit === undefined) return;
    const before = this.#drawn.get(count);
    if (before !== undefined && !this.#isDue(count, before)) return;
    const used = usedOf(before, count.buckets, this.#hour);
    const upTo = before === undefined ? new Map<number, number>() : this.#wanted(count);
    const answer = await this.#ask(count, limit, used, upTo);
    if (answer === undefined) return;
    if (before === undefined) {
      for (const [hour, requests] of answer.own) count.raise(hour, requests);
    } else if (this.#drawn.get(count) === undefined) return;
    this.#drawn.set(count, answer);
    if (before === undefined) await this.#draw(count);
  }

  /** Half of what is drawn ahead is left, or too little for some poll, or the next hour is near. */
  #isDue(count: QuotaCount, { own }: Drawn): boolean {
    const ahead = this.#ahead(count);
    const spare = Math.min(ahead / 2, ahead - this.#parts.demandOf(count).most);
    for (const [hour, wanted] of this.#wanted(count)) if ((own.get(hour) ?? 0) < wanted - spare) return true;
    return false;
  }

  #wanted(count: QuotaCount): ReadonlyMap<number, number> {
    const { buckets } = count;
    const ahead = this.#ahead(count);
    const soon = hourOf(this.#parts.quotas.calendar.now() + TTLS_AHEAD * this.#parts.ttlMs);
    return new Map([...new Set([this.#hour, soon])].map((hour) => [hour, (buckets.get(hour) ?? 0) + ahead]));
  }

  #ahead(count: QuotaCount): number {
    const { ttlMs, demandOf } = this.#parts;
    const { perSecond, most } = demandOf(count);
    return Math.ceil((perSecond * TTLS_AHEAD * ttlMs) / 1_000) + most;
  }
}

/** Whoever knows of requests that the board has lost tells it, and what was drawn and not sent before this hour. */
function usedOf(drawn: Drawn | undefined, buckets: QuotaBuckets, beforeHour: number): DrawRequest["used"] {
  const own = drawn?.own ?? new Map<number, number>();
  return [...new Set([...buckets.keys(), ...own.keys()])]
    .map((hour) => ({ hour, count: buckets.get(hour) ?? 0, drawn: own.get(hour) }))
    .filter(({ hour, count, drawn: had = 0 }) => count > had || (count < had && hour < beforeHour));
}
