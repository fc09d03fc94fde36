import { DAYS_PER_CYCLE, civilDayOf, weekdayOf } from "../time/civil-day.ts";

export type DayGaps = {
  readonly longest: number;
  readonly shortest: number;
  /** The part of all days that match. */
  readonly ratio: number;
};

/**
 * The days on which a cron expression fires. As node-cron reads it, day-of-month and day-of-week must both
 * match (classic cron fires when either does).
 */
export class CronDays {
  readonly everyDay: boolean;
  readonly #daysOfMonth: ReadonlySet<number>;
  readonly #months: ReadonlySet<number>;
  readonly #weekdays: ReadonlySet<number>;
  /** Everything repeats after so many days. */
  readonly #cycle: number;
  /** The last answer of `from` holds for each day of its gap: a yearly cron walks through its year once, not once a scrape. */
  #gap = { fromDay: 1, toDay: 0 };

  constructor(daysOfMonth: readonly number[], months: readonly number[], weekdays: readonly number[]) {
    this.#daysOfMonth = new Set(daysOfMonth);
    this.#months = new Set(months);
    this.#weekdays = new Set(weekdays);
    const everyDate = this.#daysOfMonth.size === 31 && this.#months.size === 12;
    this.everyDay = everyDate && this.#weekdays.size === 7;
    this.#cycle = everyDate ? 7 : DAYS_PER_CYCLE;
  }

  get restrictsBoth(): boolean {
    return this.#daysOfMonth.size < 31 && this.#weekdays.size < 7;
  }

  matches(dayNumber: number): boolean {
    if (this.everyDay) return true;
    if (!this.#weekdays.has(weekdayOf(dayNumber))) return false;
    const { month, day } = civilDayOf(dayNumber);
    return this.#months.has(month) && this.#daysOfMonth.has(day);
  }

  /** The first match from this day on. What one cycle does not have never comes. */
  from(dayNumber: number): number | undefined {
    if (dayNumber >= this.#gap.fromDay && dayNumber <= this.#gap.toDay) return this.#gap.toDay;
    for (let day = dayNumber; day < dayNumber + this.#cycle; day += 1) {
      if (!this.matches(day)) continue;
      this.#gap = { fromDay: dayNumber, toDay: day };
      return day;
    }
    return undefined;
  }

  /** In [from, to). */
  countBetween(fromDay: number, toDay: number): number {
    if (this.everyDay) return Math.max(0, toDay - fromDay);
    let count = 0;
    for (let day = fromDay; day < toDay; day += 1) if (this.matches(day)) count += 1;
    return count;
  }

  /** The most matches within so many days in a row. */
  mostWithin(days: number): number {
    if (this.everyDay) return days;
    let [most, count] = [0, 0];
    for (let day = 0; day < this.#cycle + days; day += 1) {
      if (this.matches(day)) count += 1;
      if (day >= days && this.matches(day - days)) count -= 1;
      most = Math.max(most, count);
    }
    return most;
  }

  /** Over a whole cycle, so exact for all time. */
  gaps(): DayGaps {
    const first = this.from(0) ?? 0;
    let [previous, longest, shortest, count] = [first, 0, this.#cycle, 0];
    for (let day = first + 1; day <= first + this.#cycle; day += 1) {
      if (!this.matches(day)) continue;
      longest = Math.max(longest, day - previous);
      shortest = Math.min(shortest, day - previous);
      previous = day;
      count += 1;
    }
    return { longest, shortest, ratio: count / this.#cycle };
  }
}
