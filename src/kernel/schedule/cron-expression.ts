import { DAY_MS, SECOND_MS } from "../time/duration.ts";
import type { CronDays } from "./cron-days.ts";

const SECONDS_PER_DAY = DAY_MS / SECOND_MS;

type SlotGaps = {
  readonly longestMs: number;
  readonly shortestMs: number;
  /** The mean of those within a day, without the longest, which is often the night. */
  readonly usualMs: number;
  /** Every gap is the longest one. */
  readonly isEven: boolean;
  /** The long-run average. */
  readonly slotsPerDay: number;
  /** Two days in a row have slots. */
  readonly hasNeighbours: boolean;
};

/** When a cron expression has slots by its own clock: at the same seconds of each day on which it falls. */
export class CronExpression {
  readonly text: string;
  readonly everyHour: boolean;
  readonly days: CronDays;
  /** The seconds of a day at which it has slots, in order. */
  readonly #times: Uint32Array;
  #knownGaps: SlotGaps | undefined = undefined;

  constructor(text: string, days: CronDays, times: Uint32Array, everyHour: boolean) {
    this.text = text;
    this.everyHour = everyHour;
    this.days = days;
    this.#times = times;
  }

  next(wallMs: number): number {
    const second = Math.floor(wallMs / SECOND_MS) + 1;
    const today = Math.floor(second / SECONDS_PER_DAY);
    const left = this.days.matches(today)
      ? this.#times[countBefore(this.#times, second - today * SECONDS_PER_DAY)]
      : undefined;
    const day = left === undefined ? (this.days.from(today + 1) ?? Infinity) : today;
    return (day * SECONDS_PER_DAY + (left ?? this.#firstTime)) * SECOND_MS;
  }

  countBetween(fromMs: number, toMs: number): number {
    const start = Math.floor(fromMs / SECOND_MS) + 1;
    const end = Math.floor(toMs / SECOND_MS) + 1;
    const startDay = Math.floor(start / SECONDS_PER_DAY);
    const endDay = Math.floor(end / SECONDS_PER_DAY);
    return (
      this.days.countBetween(startDay, endDay) * this.#times.length -
      this.#beforeOn(startDay, start) +
      this.#beforeOn(endDay, end)
    );
  }

  /**
   * Exact where slots come evenly, up to a day, and for whole days. Any other length is cut into days and a rest: that may
   * count a little too many, never too few.
   */
  mostWithin(windowMs: number): number {
    if (this.gaps.isEven) return Math.ceil(windowMs / this.gaps.longestMs);
    const seconds = Math.ceil(windowMs / SECOND_MS);
    const days = Math.floor(seconds / SECONDS_PER_DAY);
    const whole = days === 0 ? 0 : this.days.mostWithin(days) * this.#times.length;
    return whole + this.#mostWithinADay(seconds - days * SECONDS_PER_DAY);
  }

  /** Exact for all time, as the whole cycle of 400 years is walked through: once. */
  get gaps(): SlotGaps {
    return (this.#knownGaps ??= this.#findGaps());
  }

  get #firstTime(): number {
    return this.#times[0] ?? 0;
  }

  #findGaps(): SlotGaps {
    const days = this.days.gaps();
    let previous = this.#firstTime;
    const overnight = previous - (this.#times.at(-1) ?? 0);
    let longestToday = 0;
    let shortest = days.shortest * SECONDS_PER_DAY + overnight;
    for (let index = 1; index < this.#times.length; index += 1) {
      const time = this.#times[index] ?? 0;
      longestToday = Math.max(longestToday, time - previous);
      shortest = Math.min(shortest, time - previous);
      previous = time;
    }
    const longest = Math.max(longestToday, days.longest * SECONDS_PER_DAY + overnight);
    const gapsToday = this.#times.length - 2;
    const usual = (previous - this.#firstTime - longestToday) / gapsToday;
    return {
      longestMs: longest * SECOND_MS,
      shortestMs: shortest * SECOND_MS,
      usualMs: Math.round((gapsToday > 0 ? usual : shortest) * SECOND_MS),
      isEven: shortest === longest,
      slotsPerDay: this.#times.length * days.ratio,
      hasNeighbours: days.shortest === 1,
    };
  }

  /** Such a window may reach over midnight. */
  #mostWithinADay(seconds: number): number {
    if (seconds === 0) return 0;
    const { hasNeighbours } = this.gaps;
    let most = 0;
    for (let index = 0; index < this.#times.length; index += 1) {
      const end = (this.#times[index] ?? 0) + seconds;
      const tomorrow = hasNeighbours ? countBefore(this.#times, end - SECONDS_PER_DAY) : 0;
      most = Math.max(most, countBefore(this.#times, end) - index + tomorrow);
    }
    return most;
  }

  #beforeOn(day: number, second: number): number {
    return this.days.matches(day) ? countBefore(this.#times, second - day * SECONDS_PER_DAY) : 0;
  }
}

/** How many come before this second of the day, which may lie before its start or past its end. */
function countBefore(times: Uint32Array, second: number): number {
  let [from, to] = [0, times.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((times[middle] ?? Infinity) < second) from = middle + 1;
    else to = middle;
  }
  return from;
}
