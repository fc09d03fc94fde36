import { DAY_MS, SECOND_MS } from "../time/duration.ts";
import { CronDays } from "./cron-days.ts";
import { type FieldName, parseCronField } from "./cron-field.ts";
import { CronTimes } from "./cron-times.ts";

const SECONDS_PER_DAY = DAY_MS / SECOND_MS;
const FIELD_NAMES: readonly FieldName[] = [
  "second",
  "minute",
  "hour",
  "day-of-month",
  "month",
  "day-of-week",
];

export type CronReading =
  | { readonly kind: "cron"; readonly cron: CronExpression }
  | { readonly kind: "refused"; readonly message: string };

/** Five or six fields, in UTC; five are given second 0. */
export function parseCron(text: string): CronReading {
  const given = text.trim().split(/\s+/);
  if (given.length !== 5 && given.length !== 6) {
    return { kind: "refused", message: `it must have 5 or 6 fields, not ${given.length}` };
  }
  const fields = given.length === 5 ? ["0", ...given] : given;
  const values: (readonly number[])[] = [];
  for (const [index, name] of FIELD_NAMES.entries()) {
    const field = parseCronField(name, fields[index] ?? "");
    if (field.kind === "refused") return field;
    values.push(field.values);
  }
  const [seconds = [], minutes = [], hours = [], daysOfMonth = [], months = [], weekdays = []] = values;
  const days = new CronDays(daysOfMonth, months, weekdays);
  if (days.from(0) === undefined) {
    return { kind: "refused", message: "no date ever matches its day-of-month and month" };
  }
  const times = new CronTimes(hours, minutes, seconds);
  return { kind: "cron", cron: new CronExpression(fields.join(" "), days, times) };
}

type SlotGaps = {
  readonly longestMs: number;
  readonly shortestMs: number;
  /** The long-run average. */
  readonly slotsPerDay: number;
  /** Two days in a row have slots. */
  readonly hasNeighbours: boolean;
};

/** When a cron expression has slots: at the same seconds of each day on which it falls. */
export class CronExpression {
  /** Six fields, one space between them. */
  readonly text: string;
  readonly #days: CronDays;
  readonly #times: CronTimes;
  #knownGaps: SlotGaps | undefined = undefined;

  constructor(text: string, days: CronDays, times: CronTimes) {
    this.text = text;
    this.#days = days;
    this.#times = times;
  }

  /** Only days that match both day fields count, unlike in classic cron. */
  get restrictsBothDayFields(): boolean {
    return this.#days.restrictsBoth;
  }

  /** The first slot strictly after this moment. There always is one. */
  next(wallMs: number): number {
    if (!Number.isFinite(wallMs)) return Infinity;
    const second = Math.floor(wallMs / SECOND_MS) + 1;
    const today = Math.floor(second / SECONDS_PER_DAY);
    const left = this.#days.matches(today)
      ? this.#times.at(this.#times.before(second - today * SECONDS_PER_DAY))
      : undefined;
    const day = left === undefined ? (this.#days.from(today + 1) ?? Infinity) : today;
    return (day * SECONDS_PER_DAY + (left ?? this.#firstTime)) * SECOND_MS;
  }

  /** The slots in (fromMs, toMs]. */
  countBetween(fromMs: number, toMs: number): number {
    if (!Number.isFinite(fromMs) || !Number.isFinite(toMs) || toMs <= fromMs) return 0;
    const start = Math.floor(fromMs / SECOND_MS) + 1;
    const end = Math.floor(toMs / SECOND_MS) + 1;
    const startDay = Math.floor(start / SECONDS_PER_DAY);
    const endDay = Math.floor(end / SECONDS_PER_DAY);
    return (
      this.#days.countBetween(startDay, endDay) * this.#times.count -
      this.#beforeOn(startDay, start) +
      this.#beforeOn(endDay, end)
    );
  }

  /**
   * The most slots in any half-open window of this length. Exact where slots come evenly, up to a day, and for whole
   * days; any other length is cut into days and a rest, which can count a little too many but never too few.
   */
  mostWithin(windowMs: number): number {
    if (this.isEven) return Math.ceil(windowMs / this.longestGapMs);
    const seconds = Math.ceil(windowMs / SECOND_MS);
    const days = Math.floor(seconds / SECONDS_PER_DAY);
    const whole = days === 0 ? 0 : this.#days.mostWithin(days) * this.#times.count;
    return whole + this.#mostWithinADay(seconds - days * SECONDS_PER_DAY);
  }

  /** The long-run average. */
  get slotsPerDay(): number {
    return this.#gaps.slotsPerDay;
  }

  get longestGapMs(): number {
    return this.#gaps.longestMs;
  }

  get shortestGapMs(): number {
    return this.#gaps.shortestMs;
  }

  /** Every gap is the longest one. */
  get isEven(): boolean {
    return this.shortestGapMs === this.longestGapMs;
  }

  /** Exact for all time, as the whole cycle of 400 years is walked through: once. */
  get #gaps(): SlotGaps {
    this.#knownGaps ??= this.#findGaps();
    return this.#knownGaps;
  }

  get #firstTime(): number {
    return this.#times.at(0) ?? 0;
  }

  #findGaps(): SlotGaps {
    const days = this.#days.gaps();
    let previous = this.#firstTime;
    const overnight = previous - (this.#times.at(this.#times.count - 1) ?? 0);
    let longest = days.longest * SECONDS_PER_DAY + overnight;
    let shortest = days.shortest * SECONDS_PER_DAY + overnight;
    for (let index = 1; index < this.#times.count; index += 1) {
      const time = this.#times.at(index) ?? 0;
      longest = Math.max(longest, time - previous);
      shortest = Math.min(shortest, time - previous);
      previous = time;
    }
    return {
      longestMs: longest * SECOND_MS,
      shortestMs: shortest * SECOND_MS,
      slotsPerDay: this.#times.count * days.ratio,
      hasNeighbours: days.shortest === 1,
    };
  }

  /** Such a window may reach over midnight. */
  #mostWithinADay(seconds: number): number {
    if (seconds === 0) return 0;
    const { hasNeighbours } = this.#gaps;
    let most = 0;
    for (let index = 0; index < this.#times.count; index += 1) {
      const end = (this.#times.at(index) ?? 0) + seconds;
      const tomorrow = hasNeighbours ? this.#times.before(end - SECONDS_PER_DAY) : 0;
      most = Math.max(most, this.#times.before(end) - index + tomorrow);
    }
    return most;
  }

  #beforeOn(day: number, second: number): number {
    return this.#days.matches(day) ? this.#times.before(second - day * SECONDS_PER_DAY) : 0;
  }
}
