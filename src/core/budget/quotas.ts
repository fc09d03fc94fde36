import type { Config } from "../config/config.ts";
import type { Clock } from "../time/clock.ts";
import { type HourCount, QuotaCount, type QuotaRow } from "./quota.ts";
import { MINUTE_MS } from "../time/duration.ts";
import { SteadyCalendar } from "../time/steady-calendar.ts";

/** The name of no budget. */
export const ANY_BUDGET = "";

const SPEND = " spend";

/** What a budget may spend is counted as if it were a budget, by a name that none can have. */
export function spendOf(budget: string): string {
  return `${budget}${SPEND}`;
}

export function budgetOf(quota: string): string {
  return quota.endsWith(SPEND) ? quota.slice(0, -SPEND.length) : quota;
}

/** A request takes so many units of a quota, that of its budget or what that may spend. */
export type Draw = { readonly quota: string; readonly budget: string; readonly units: number };

export function drawsOf(budget: string, mostCost: number): readonly Draw[] {
  const request = { quota: budget, budget, units: 1 };
  return mostCost === 0 ? [request] : [request, { quota: spendOf(budget), budget, units: mostCost }];
}

/**
 * One count for each budget that ever was in the config, and one for what it spends: one that leaves and comes back
 * continues its count.
 */
export class Quotas {
  readonly calendar: SteadyCalendar;
  readonly #counts = new Map<string, QuotaCount>();
  /** Nobody knows of which budget these are: they count for each that has no count of its own in their hours. */
  readonly #ofAny: readonly QuotaRow[];
  #onChanged: (row: QuotaRow) => void = () => {};

  constructor(clock: Clock, restored: readonly QuotaRow[] = []) {
    this.calendar = new SteadyCalendar(clock, 15 * MINUTE_MS);
    this.calendar.onSet((byMs, nowMs) => {
      for (const count of this.#counts.values()) count.calendarSet(byMs, nowMs);
    });
    this.#ofAny = restored.filter(({ budget }) => budget === ANY_BUDGET);
    const ofOne = restored.filter(({ budget }) => budget !== ANY_BUDGET);
    for (const [budget, rows] of Map.groupBy(ofOne, (row) => row.budget)) this.#add(budget, rows);
  }

  of(name: string): QuotaCount {
    return this.#counts.get(name) ?? this.#add(name, []);
  }

  /** The file must hold all of these. Only budgets that have a quota are in it. */
  get rows(): readonly QuotaRow[] {
    const ofOne = [...this.#counts].flatMap(([budget, { limit, counts }]) =>
      limit === undefined ? [] : counts.map((count) => ({ budget, ...count })),
    );
    return [...this.#ofAny, ...ofOne];
  }

  /** Calls back with each row that the file does not hold yet. What an impossible hour holds was sent just now at the latest. */
  onChanged(listener: (row: QuotaRow) => void): void {
    this.#onChanged = listener;
    const nowMs = this.calendar.now();
    for (const count of this.#counts.values()) count.calendarSet(0, nowMs);
  }

  change({ budgets }: Config): void {
    const limits = new Map(budgets.map(({ name, quota }) => [name, quota]));
    for (const { name, spend } of budgets) if (spend !== undefined) limits.set(spendOf(name), spend);
    for (const budget of new Set([...this.#counts.keys(), ...limits.keys()]))
      this.of(budget).change(limits.get(budget));
  }

  #add(budget: string, restored: readonly HourCount[]): QuotaCount {
    const nowMs = (): number => this.calendar.now();
    const hours = new Set(restored.map(({ hour }) => hour));
    const lost = this.#ofAny.filter(({ hour }) => !hours.has(hour));
    const count = new QuotaCount(nowMs, [...lost, ...restored], (changed) =>
      this.#onChanged({ budget, ...changed }),
    );
    this.#counts.set(budget, count);
    return count;
  }
}
