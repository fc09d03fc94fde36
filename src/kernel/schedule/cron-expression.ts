import { DAY_MS, SECOND_MS } from "../time/duration.ts";
import type { CronDays } from "./cron-days.ts";

const SECONDS_PER_DAY = DAY_MS / SECOND_MS;

type SlotGaps = {
  readonly longestMs: number;
  readonly shortestMs: number;
  /** The mean of those within a day, but for the longest: a night without slots is not among them. */
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
  readonly #times: CronTimes;
  #knownGaps: SlotGaps | undefined = undefined;

  constructor(text: string, days: CronDays, times: CronTimes, everyHour: boolean) {
    this.text = text;
    this.everyHour = everyHour;
    this.days = days;
    this.#times = times;
  }

  next(wallMs: number): number {
    const second = Math.floor(wallMs / SECOND_MS) + 1;
    const today = Math.floor(second / SECONDS_PER_DAY);
    const left = this.days.matches(today)
      ? this.#times.at(this.#times.before(second - today * SECONDS_PER_DAY))
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
      this.days.countBetween(startDay, endDay) * this.#times.count -
      this.#beforeOn(startDay, start) +
      this.#beforeOn(endDay, end)
    );
  }

  /**
   * Exact where slots come evenly, up to a day, and for whole
   * days; any other length is cut into days and a rest, which can count a little too many but never too few.
   */
  mostWithin(windowMs: number): number {
    if (this.gaps.isEven) return Math.ceil(windowMs / this.gaps.longestMs);
    const seconds = Math.ceil(windowMs / SECOND_MS);
    const days = Math.floor(seconds / SECONDS_PER_DAY);
    const whole = days === 0 ? 0 : this.days.mostWithin(days) * this.#times.count;
    return whole + this.#mostWithinADay(seconds - days * SECONDS_PER_DAY);
  }

  /** Exact for all time, as the whole cycle of 400 years is walked through: once. */
  get gaps(): SlotGaps {
    return (this.#knownGaps ??= this.#findGaps());
  }

  get #firstTime(): number {
    return this.#times.at(0) ?? 0;
  }

  #findGaps(): SlotGaps {
    const days = this.days.gaps();
    let previous = this.#firstTime;
    const overnight = previous - (this.#times.at(this.#times.count - 1) ?? 0);
    let longestToday = 0;
    let shortest = days.shortest * SECONDS_PER_DAY + overnight;
    for (let index = 1; index < this.#times.count; index += 1) {
      const time = this.#times.at(index) ?? 0;
      longestToday = Math.max(longestToday, time - previous);
      shortest = Math.min(shortest, time - previous);
      previous = time;
    }
    const longest = Math.max(longestToday, days.longest * SECONDS_PER_DAY + overnight);
    const gapsToday = this.#times.count - 2;
    const usual = (previous - this.#firstTime - longestToday) / gapsToday;
    return {
      longestMs: longest * SECOND_MS,
      shortestMs: shortest * SECOND_MS,
      usualMs: Math.round((gapsToday > 0 ? usual : shortest) * SECOND_MS),
      isEven: shortest === longest,
      slotsPerDay: this.#times.count * days.ratio,
      hasNeighbours: days.shortest === 1,
    };
  }

  /** Such a window may reach over midnight. */
  #mostWithinADay(seconds: number): number {
    if (seconds === 0) return 0;
    const { hasNeighbours } = this.gaps;
    let most = 0;
    for (let index = 0; index < this.#times.count; index += 1) {
      const end = (this.#times.at(index) ?? 0) + seconds;
      const tomorrow = hasNeighbours ? this.#times.before(end - SECONDS_PER_DAY) : 0;
      most = Math.max(most, this.#times.before(end) - index + tomorrow);
    }
    return most;
  }

  #beforeOn(day: number, second: number): number {
    return this.days.matches(day) ? this.#times.before(second - day * SECONDS_PER_DAY) : 0;
  }
}

/** The seconds of a day at which a cron expression has slots, in order and numbered from 0. */
export class CronTimes {
  readonly #times: Uint32Array;

  /** Each of them in ascending order. */
  constructor(hours: readonly number[], minutes: readonly number[], seconds: readonly number[]) {
    const ofHour = minutes.flatMap((minute) => seconds.map((second) => minute * 60 + second));
    this.#times = Uint32Array.from(hours.flatMap((hour) => ofHour.map((time) => hour * 3600 + time)));
  }

  /** How many there are. */
  get count(): number {
    return this.#times.length;
  }

  /** Undefined past the last one. */
  at(index: number): number | undefined {
    return this.#times[index];
  }

  /** How many come before this second of the day, which may lie before its start or past its end. */
  before(second: number): number {
    let [from, to] = [0, this.#times.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#times[middle] ?? Infinity) < second) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
