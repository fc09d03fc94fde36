import { DAYS_PER_CYCLE } from "../time/civil-day.ts";
import { DAY_MS, SECOND_MS } from "../time/duration.ts";
import { CronDays } from "./cron-days.ts";
import { type FieldName, parseCronField } from "./cron-field.ts";

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
  const times = Uint32Array.from(
    hours.flatMap((hour) =>
      minutes.flatMap((minute) => seconds.map((second) => hour * 3600 + minute * 60 + second)),
    ),
  );
  return { kind: "cron", cron: new CronExpression(fields.join(" "), days, times) };
}

export type SlotGaps = { readonly longestMs: number; readonly shortestMs: number };

/** When a cron expression has slots: at the same seconds of each day on which it falls. */
export class CronExpression {
  /** Six fields, one space between them. */
  readonly text: string;
  readonly #days: CronDays;
  /** Seconds of a day, sorted. */
  readonly #times: Uint32Array;
  #gaps: SlotGaps | undefined = undefined;

  constructor(text: string, days: CronDays, times: Uint32Array) {
    this.text = text;
    this.#days = days;
    this.#times = times;
  }

  /** Only days that match both day fields count, unlike in classic cron. */
  get restrictsBothDayFields(): boolean {
    return this.#days.restrictsBoth;
  }

  /** The first slot strictly after this moment. */
  next(wallMs: number): number | undefined {
    if (!Number.isFinite(wallMs)) return undefined;
    const second = Math.floor(wallMs / SECOND_MS) + 1;
    const today = Math.floor(second / SECONDS_PER_DAY);
    const left = this.#days.matches(today)
      ? this.#times[this.#before(second - today * SECONDS_PER_DAY)]
      : undefined;
    const day = left === undefined ? this.#days.from(today + 1) : today;
    const time = left ?? this.#times[0];
    return day === undefined || time === undefined ? undefined : (day * SECONDS_PER_DAY + time) * SECOND_MS;
  }

  /** The slots in (fromMs, toMs]. */
  countBetween(fromMs: number, toMs: number): number {
    if (!Number.isFinite(fromMs) || !Number.isFinite(toMs) || toMs <= fromMs) return 0;
    const start = Math.floor(fromMs / SECOND_MS) + 1;
    const end = Math.floor(toMs / SECOND_MS) + 1;
    const startDay = Math.floor(start / SECONDS_PER_DAY);
    const endDay = Math.floor(end / SECONDS_PER_DAY);
    return (
      this.#days.countBetween(startDay, endDay) * this.#times.length -
      this.#beforeOn(startDay, start) +
      this.#beforeOn(endDay, end)
    );
  }

  /** Exact for all time: checked over the whole cycle of 400 years. */
  gapsMs(): SlotGaps {
    this.#gaps ??= this.#findGaps();
    return this.#gaps;
  }

  /**
   * The most slots in any half-open window of this length. Exact where slots come evenly, up to a day, and for whole
   * days; any other length is cut into days and a rest, which can count a little too many but never too few.
   */
  mostWithin(windowMs: number): number {
    const { longestMs, shortestMs } = this.gapsMs();
    if (longestMs === shortestMs) return Math.ceil(windowMs / longestMs);
    const seconds = Math.ceil(windowMs / SECOND_MS);
    const days = Math.floor(seconds / SECONDS_PER_DAY);
    const whole = days === 0 ? 0 : this.#days.mostWithin(days) * this.#times.length;
    return whole + this.#mostWithinADay(seconds - days * SECONDS_PER_DAY);
  }

  /** The long-run average. */
  slotsPerDay(): number {
    return this.#times.length * (this.#days.gaps()?.ratio ?? 0);
  }

  #findGaps(): SlotGaps {
    const days = this.#days.gaps() ?? { longest: DAYS_PER_CYCLE, shortest: DAYS_PER_CYCLE };
    const overnight = (this.#times[0] ?? 0) - (this.#times.at(-1) ?? 0);
    let longest = days.longest * SECONDS_PER_DAY + overnight;
    let shortest = days.shortest * SECONDS_PER_DAY + overnight;
    for (let index = 1; index < this.#times.length; index += 1) {
      const gap = (this.#times[index] ?? 0) - (this.#times[index - 1] ?? 0);
      longest = Math.max(longest, gap);
      shortest = Math.min(shortest, gap);
    }
    return { longestMs: longest * SECOND_MS, shortestMs: shortest * SECOND_MS };
  }

  /** Such a window may reach over midnight. */
  #mostWithinADay(seconds: number): number {
    if (seconds === 0) return 0;
    const hasNeighbours = this.#days.gaps()?.shortest === 1;
    let most = 0;
    for (const [index, start] of this.#times.entries()) {
      const end = start + seconds;
      const tomorrow = hasNeighbours ? this.#before(end - SECONDS_PER_DAY) : 0;
      most = Math.max(most, this.#before(end) - index + tomorrow);
    }
    return most;
  }

  #beforeOn(day: number, second: number): number {
    return this.#days.matches(day) ? this.#before(second - day * SECONDS_PER_DAY) : 0;
  }

  /** How many slots of a day come before this second of it: by halves, as they are sorted. */
  #before(second: number): number {
    let [low, high] = [0, this.#times.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#times[middle] ?? Infinity) < second) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
