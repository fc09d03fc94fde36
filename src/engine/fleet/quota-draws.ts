import type { Quotas } from "../../core/budget/quotas.ts";
import type { FleetBoard } from "../../core/fleet/board.ts";
import { hourOf } from "../../core/time/duration.ts";

export type QuotaDrawsParts = {
  readonly board: FleetBoard;
  readonly quotas: Quotas;
  readonly ttlMs: number;
  /** Whose counts these are: those of a budget that has one holder at a time are continued by the next one. */
  readonly name: string;
  readonly pollsPerSecond: (budget: string) => number;
  readonly onBug: (error: unknown) => void;
};

type Drawn = {
  /** By hour: it may use so much, as that is on the board. */
  readonly upTo: ReadonlyMap<number, number>;
  readonly total: number;
};

/** So far ahead of what is sent a quota is drawn on: a killed replica wastes as much. */
const TTLS_AHEAD = 2;

/**
 * Quotas that outlive their holders: each hour's count is on the board before its requests leave, so that whoever takes
 * over counts them too. They are drawn ahead of need, so that no poll waits for it.
 */
export class QuotaDraws {
  readonly #parts: QuotaDrawsParts;
  readonly #drawn = new Map<string, Drawn>();
  readonly #asking = new Map<string, Promise<void>>();

  constructor(parts: QuotaDrawsParts) {
    this.#parts = parts;
  }

  /** Undefined for a budget without a quota. */
  usedOf(budget: string): number | undefined {
    const { used } = this.#parts.quotas.of(budget);
    return used === undefined || this.#parts.name === ""
      ? used
      : Math.max(used, this.#drawn.get(budget)?.total ?? 0);
  }

  /** Whether one more request is on the board already. */
  isDrawn(budget: string): boolean {
    const { limit, buckets } = this.#parts.quotas.of(budget);
    if (limit === undefined) return true;
    const hour = this.#hour;
    return (buckets.get(hour) ?? 0) < (this.#drawn.get(budget)?.upTo.get(hour) ?? 0);
  }

  isSpent(budget: string): boolean {
    const { limit } = this.#parts.quotas.of(budget);
    const drawn = this.#drawn.get(budget);
    return (
      limit !== undefined && drawn !== undefined && drawn.total >= limit.requests && !this.isDrawn(budget)
    );
  }

  /** Its earlier holders' counts are on the board: until they are known, nothing is sent. */
  begin(budget: string): void {
    this.#drawn.delete(budget);
    void this.draw(budget).catch(this.#parts.onBug);
  }

  /** One call at a time for each budget. */
  async draw(budget: string): Promise<void> {
    const asking = this.#asking.get(budget) ?? this.#draw(budget).finally(() => this.#asking.delete(budget));
    this.#asking.set(budget, asking);
    await asking;
  }

  /** What was drawn and not sent goes back. */
  async end(budget: string): Promise<void> {
    const { limit, buckets } = this.#parts.quotas.of(budget);
    const drawn = this.#drawn.get(budget);
    this.#drawn.delete(budget);
    if (limit === undefined || drawn === undefined) return;
    await this.#asking.get(budget);
    const { board, name } = this.#parts;
    const unsent = [...drawn.upTo].filter(([hour, upTo]) => upTo > (buckets.get(hour) ?? 0));
    const used = unsent.map(([hour, upTo]) => ({ hour, count: buckets.get(hour) ?? 0, drawn: upTo }));
    const oldestHour = this.#oldestHour(limit.perMs);
    await board.draw({ budget, name, limit: limit.requests, oldestHour, used, upTo: new Map() });
  }

  get #hour(): number {
    return hourOf(this.#parts.quotas.calendar.now());
  }

  #oldestHour(perMs: number): number {
    return hourOf(this.#parts.quotas.calendar.now() - perMs);
  }

  async #draw(budget: string): Promise<void> {
    const { board, quotas, name } = this.#parts;
    const count = quotas.of(budget);
    const { limit } = count;
    if (limit === undefined) return;
    const before = this.#drawn.get(budget);
    if (before !== undefined && !this.#isDue(budget, before)) return;
    // Whoever knows of requests that the board has lost tells it.
    const used = [...count.buckets]
      .filter(([hour, requests]) => requests > (before?.upTo.get(hour) ?? 0))
      .map(([hour, requests]) => ({ hour, count: requests, drawn: undefined }));
    const upTo = before === undefined ? new Map<number, number>() : this.#wanted(budget);
    const oldestHour = this.#oldestHour(limit.perMs);
    const answer = await board.draw({ budget, name, limit: limit.requests, oldestHour, used, upTo });
    if (answer.kind === "away") return;
    if (before === undefined) {
      for (const [hour, requests] of answer.own) count.raise(hour, requests);
    } else if (this.#drawn.get(budget) === undefined) return;
    this.#drawn.set(budget, { upTo: answer.own, total: answer.total });
    if (before === undefined) await this.#draw(budget);
  }

  /** Half of what is drawn ahead is left, or the next hour is near. */
  #isDue(budget: string, { upTo }: Drawn): boolean {
    for (const [hour, most] of this.#wanted(budget))
      if ((upTo.get(hour) ?? 0) < most - this.#ahead(budget) / 2) return true;
    return false;
  }

  #wanted(budget: string): ReadonlyMap<number, number> {
    const { buckets } = this.#parts.quotas.of(budget);
    const ahead = this.#ahead(budget);
    const soon = hourOf(this.#parts.quotas.calendar.now() + TTLS_AHEAD * this.#parts.ttlMs);
    return new Map([...new Set([this.#hour, soon])].map((hour) => [hour, (buckets.get(hour) ?? 0) + ahead]));
  }

  #ahead(budget: string): number {
    const { ttlMs, pollsPerSecond } = this.#parts;
    return Math.ceil((pollsPerSecond(budget) * TTLS_AHEAD * ttlMs) / 1_000) + 1;
  }
}
