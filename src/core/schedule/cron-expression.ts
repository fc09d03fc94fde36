import { DAYS_PER_CYCLE } from "../time/civil-day.ts";
import { CronDays } from "./cron-days.ts";
import { type FieldName, parseCronField } from "./cron-field.ts";
import { CronTimes } from "./cron-times.ts";

const SECONDS_PER_DAY = 86_400;
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

export class CronExpression {
  /** Six fields, one space between them. */
  readonly text: string;
  readonly #days: CronDays;
  readonly #times: CronTimes;

  constructor(text: string, days: CronDays, times: CronTimes) {
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
    const second = Math.floor(wallMs / 1000) + 1;
    const today = Math.floor(second / SECONDS_PER_DAY);
    if (this.#days.matches(today)) {
      const time = this.#times.from(second - today * SECONDS_PER_DAY);
      if (time !== undefined) return (today * SECONDS_PER_DAY + time) * 1000;
    }
    const day = this.#days.from(today + 1);
    return day === undefined ? undefined : (day * SECONDS_PER_DAY + this.#times.first) * 1000;
  }

  /** The slots in (fromMs, toMs]. */
  countBetween(fromMs: number, toMs: number): number {
    if (!Number.isFinite(fromMs) || !Number.isFinite(toMs) || toMs <= fromMs) return 0;
    const start = Math.floor(fromMs / 1000) + 1;
    const end = Math.floor(toMs / 1000) + 1;
    const startDay = Math.floor(start / SECONDS_PER_DAY);
    const endDay = Math.floor(end / SECONDS_PER_DAY);
    return (
      this.#days.countBetween(startDay, endDay) * this.#times.perDay -
      this.#beforeOn(startDay, start) +
      this.#beforeOn(endDay, end)
    );
  }

  /** Exact for all time: checked over the whole cycle of 400 years. */
  gapsMs(): { readonly longestMs: number; readonly shortestMs: number } {
    const days = this.#days.gaps() ?? { longest: DAYS_PER_CYCLE, shortest: DAYS_PER_CYCLE };
    const times = this.#times.gaps();
    const overnight = this.#times.first - this.#times.last;
    return {
      longestMs: Math.max(times.longest, days.longest * SECONDS_PER_DAY + overnight) * 1000,
      shortestMs: Math.min(times.shortest, days.shortest * SECONDS_PER_DAY + overnight) * 1000,
    };
  }

  /**
   * The most slots in any half-open window of this length. Exact up to a day and for whole days; a mixed
   * length is cut into both, which can count a little too many but never too few.
   */
  mostWithin(windowMs: number): number {
    const seconds = Math.ceil(windowMs / 1000);
    const days = Math.floor(seconds / SECONDS_PER_DAY);
    const rest = seconds - days * SECONDS_PER_DAY;
    let most = days === 0 ? 0 : this.#days.mostWithin(days) * this.#times.perDay;
    if (rest > 0) most += this.#times.mostWithin(rest, this.#days.gaps()?.shortest === 1);
    return most;
  }

  /** The long-run average. */
  slotsPerDay(): number {
    return this.#times.perDay * (this.#days.gaps()?.ratio ?? 0);
  }

  #beforeOn(day: number, second: number): number {
    return this.#days.matches(day) ? this.#times.before(second - day * SECONDS_PER_DAY) : 0;
  }
}
