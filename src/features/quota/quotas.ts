import type { Config } from "../../kernel/config/config.ts";
import type { Note } from "../../kernel/text/notes.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import {
  type KeptQuotas,
  NOBODY_KNOWS,
  NOTHING_KEPT,
  QuotaCount,
  type QuotaKey,
  type QuotaRow,
  quotaNotes,
} from "./quota.ts";
import { MINUTE_MS } from "../../kernel/time/duration.ts";
import { SteadyCalendar } from "../../kernel/time/steady-calendar.ts";

/** A request takes so many units of a quota. */
export type Draw = { readonly count: QuotaCount; readonly units: number };

/**
 * Two counts for each budget that ever was in the config: one that leaves and comes back continues its counts.
 */
export class Quotas {
  readonly calendar: SteadyCalendar;
  readonly #counts = { requests: new Map<string, QuotaCount>(), money: new Map<string, QuotaCount>() };
  readonly #lostHours: readonly number[];
  #onChanged: (note: Note) => void = () => {};

  constructor(clock: Clock, { rows, lostHours }: KeptQuotas = NOTHING_KEPT) {
    this.calendar = new SteadyCalendar(clock, 15 * MINUTE_MS);
    this.calendar.onSet((byMs, nowMs) => {
      for (const count of this.#all) count.calendarSet(byMs, nowMs);
    });
    this.#lostHours = lostHours;
    for (const ofOne of Map.groupBy(rows, ({ budget, of }) => `${of} ${budget}`).values())
      if (ofOne[0] !== undefined) this.#add(ofOne[0], ofOne);
  }

  of(budget: string, of: QuotaKey["of"]): QuotaCount {
    return this.#counts[of].get(budget) ?? this.#add({ budget, of }, []);
  }

  /** Whether such a request counts against a limit: most do not, and pay nothing for those that do. */
  areCounted(budgets: readonly string[], mostCost: number): boolean {
    const { requests, money } = this.#counts;
    for (const budget of budgets) {
      if (requests.get(budget)?.limit !== undefined) return true;
      if (mostCost > 0 && money.get(budget)?.limit !== undefined) return true;
    }
    return false;
  }

  hasRoomFor(budget: string, mostCost: number): boolean {
    const { requests, money } = this.#counts;
    return requests.get(budget)?.hasRoomFor(1) !== false && money.get(budget)?.hasRoomFor(mostCost) !== false;
  }

  /** What a request of this budget takes that may cost so much. */
  drawsOf(budget: string, mostCost: number): readonly Draw[] {
    const request = { count: this.of(budget, "requests"), units: 1 };
    return mostCost === 0 ? [request] : [request, { count: this.of(budget, "money"), units: mostCost }];
  }

  /** The file must hold all of these. Only budgets that have a quota are in it. */
  get notes(): readonly Note[] {
    const counts = this.#all.flatMap((count) => (count.limit === undefined ? [] : count.notes));
    return [...counts, ...quotaNotes({ rows: [], lostHours: this.#lostHours })];
  }

  /** Calls back with each note that the file does not hold yet. What an impossible hour holds was sent just now at the latest. */
  onChanged(listener: (note: Note) => void): void {
    this.#onChanged = listener;
    const nowMs = this.calendar.now();
    for (const count of this.#all) count.calendarSet(0, nowMs);
  }

  change({ budgets }: Config): void {
    const limits = new Map(
      budgets.map(({ name, quota, spend }) => [name, { requests: quota, money: spend }]),
    );
    for (const [name, { requests, money }] of limits) {
      if (requests !== undefined) this.of(name, "requests");
      if (money !== undefined) this.of(name, "money");
    }
    for (const count of this.#all) count.change(limits.get(count.key.budget)?.[count.key.of]);
  }

  get #all(): readonly QuotaCount[] {
    return [...this.#counts.requests.values(), ...this.#counts.money.values()];
  }

  #add({ budget, of }: QuotaKey, restored: readonly QuotaRow[]): QuotaCount {
    const nowMs = (): number => this.calendar.now();
    const hours = new Set(restored.map(({ hour }) => hour));
    const lost = this.#lostHours
      .filter((hour) => !hours.has(hour))
      .map((hour) => ({ hour, requests: NOBODY_KNOWS, unconfirmed: NOBODY_KNOWS }));
    const count = new QuotaCount({ budget, of }, nowMs, [...lost, ...restored], (note) =>
      this.#onChanged(note),
    );
    this.#counts[of].set(budget, count);
    return count;
  }
}
