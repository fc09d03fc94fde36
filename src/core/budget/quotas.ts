import type { Config } from "../config/config.ts";
import type { Clock } from "../time/clock.ts";
import { type HourCount, QuotaCount, type QuotaRow } from "./quota.ts";
import { QuotaCalendar } from "./quota-calendar.ts";

/** One count for each budget that ever was in the config: one that leaves and comes back continues its count. */
export class Quotas {
  readonly calendar: QuotaCalendar;
  readonly #counts = new Map<string, QuotaCount>();
  #onChanged: (row: QuotaRow) => void = () => {};

  constructor(clock: Clock, restored: readonly QuotaRow[] = []) {
    this.calendar = new QuotaCalendar(clock);
    this.calendar.onSet((byMs, nowMs) => {
      for (const count of this.#counts.values()) count.calendarSet(byMs, nowMs);
    });
    for (const [budget, rows] of Map.groupBy(restored, (row) => row.budget)) this.#add(budget, rows);
  }

  of(budget: string): QuotaCount {
    return this.#counts.get(budget) ?? this.#add(budget, []);
  }

  /** The file must hold all of these. Only budgets that have a quota are in it. */
  get rows(): readonly QuotaRow[] {
    return [...this.#counts].flatMap(([budget, { limit, counts }]) =>
      limit === undefined ? [] : counts.map((count) => ({ budget, ...count })),
    );
  }

  /** Calls back with each row that the file does not hold yet. */
  onChanged(listener: (row: QuotaRow) => void): void {
    this.#onChanged = listener;
  }

  change({ budgets }: Config): void {
    const limits = new Map(budgets.map(({ name, quota }) => [name, quota]));
    for (const budget of new Set([...this.#counts.keys(), ...limits.keys()]))
      this.of(budget).change(limits.get(budget));
  }

  #add(budget: string, restored: readonly HourCount[]): QuotaCount {
    const nowMs = (): number => this.calendar.now();
    const count = new QuotaCount(nowMs, restored, (changed) => this.#onChanged({ budget, ...changed }));
    this.#counts.set(budget, count);
    return count;
  }
}
