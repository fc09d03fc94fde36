/** Days since 1970-01-01 and the Gregorian calendar. By arithmetic, as `Date.UTC` only goes the other way. */

import { DAY_MS, SECOND_MS } from "./duration.ts";

export type CivilDay = { readonly year: number; readonly month: number; readonly day: number };

/** The calendar, weekdays included, repeats after 400 years. */
export const DAYS_PER_CYCLE = 146_097;

/** From 0000-03-01 to 1970-01-01. A year that starts in March has its leap day at the end. */
const EPOCH_OFFSET_DAYS = 719_468;

export function civilDayOf(dayNumber: number): CivilDay {
  const shifted = dayNumber + EPOCH_OFFSET_DAYS;
  const cycle = Math.floor(shifted / DAYS_PER_CYCLE);
  const dayOfCycle = shifted - cycle * DAYS_PER_CYCLE;
  const yearOfCycle = Math.floor(
    (dayOfCycle -
      Math.floor(dayOfCycle / 1460) +
      Math.floor(dayOfCycle / 36_524) -
      Math.floor(dayOfCycle / 146_096)) /
      365,
  );
  const dayOfYear =
    dayOfCycle - (365 * yearOfCycle + Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1;
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  return { year: yearOfCycle + cycle * 400 + (month <= 2 ? 1 : 0), month, day };
}

/** Of `2026-10-25`; undefined for a text that is no day. */
export function dayNumberOf(text: string): number | undefined {
  const atMs = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // Some versions read the 31st of a shorter month as a day of the next.
  const isDay = !Number.isNaN(atMs) && civilDayOf(atMs / DAY_MS).day === Number(text.slice(8));
  return isDay ? atMs / DAY_MS : undefined;
}

/** `2026-10-25`. */
export function dayText(dayNumber: number): string {
  const { year, month, day } = civilDayOf(dayNumber);
  return `${year}-${twoDigits(month)}-${twoDigits(day)}`;
}

/** `12:04:30 UTC`. */
export function timeText(atMs: number): string {
  const seconds = Math.floor((atMs % DAY_MS) / SECOND_MS);
  return `${twoDigits(seconds / 3600)}:${twoDigits((seconds / 60) % 60)}:${twoDigits(seconds % 60)} UTC`;
}

/** `2026-10-25 12:04:30 UTC`. */
export function dateTime(atMs: number): string {
  return `${dayText(Math.floor(atMs / DAY_MS))} ${timeText(atMs)}`;
}

export const WEEKDAYS: readonly string[] = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(
  " ",
);

export const MONTHS: readonly string[] = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** 0 is Sunday. */
export function weekdayOf(dayNumber: number): number {
  return (((dayNumber + 4) % 7) + 7) % 7;
}

/** A part of a date or of a clock is written with two digits. */
export function twoDigits(amount: number): string {
  const whole = Math.floor(amount);
  return whole < 10 ? `0${whole}` : String(whole);
}
