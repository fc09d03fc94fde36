const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/**
 * Stands for `Intl.DateTimeFormat` in the shipped node-cron, whose tasks all run in UTC: a date tells its parts in UTC by
 * itself, and to ask ICU for them takes 7 MB for its tables.
 */
export class UtcDates {
  readonly #isForOffset: boolean;

  constructor(_locale: string, { timeZone, timeZoneName }: Intl.DateTimeFormatOptions) {
    if (timeZone !== "UTC")
      throw new Error(`cannot tell dates: the time zone must be UTC, received ${timeZone}`);
    this.#isForOffset = timeZoneName !== undefined;
  }

  /** What node-cron reads of them: the offset from UTC, or all the others. */
  formatToParts(date: Date): readonly Part[] {
    if (this.#isForOffset) return [{ type: "timeZoneName", value: "GMT+0" }];
    return [
      { type: "weekday", value: WEEKDAYS[date.getUTCDay()] ?? "" },
      { type: "year", value: String(date.getUTCFullYear()) },
      { type: "month", value: String(date.getUTCMonth() + 1) },
      { type: "day", value: String(date.getUTCDate()) },
      { type: "hour", value: String(date.getUTCHours()) },
      { type: "minute", value: String(date.getUTCMinutes()) },
      { type: "second", value: String(date.getUTCSeconds()) },
    ];
  }
}

type Part = { readonly type: string; readonly value: string };
