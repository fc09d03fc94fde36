import { formatPercentage } from "../../kernel/text/percent.ts";
import { inThousands } from "../../platform/humanize.ts";
import { dateTime, timeText } from "../../kernel/time/civil-day.ts";
import { DAY_MS } from "../../kernel/time/duration.ts";

/** With two decimals, or as many as the objective has that it is compared with. */
export function percent(ratio: number, objective: number = 0): string {
  const [, decimals = ""] = formatPercentage(objective).slice(0, -1).split(".");
  const parts = 10 ** Math.max(2, decimals.length);
  // Rounded down: 99.996 % is not 100 %. But 0.29 · 10 000 is 2899.9999999999995, and that must be 29 %.
  return `${Math.floor(ratio * 100 * parts + 1e-6) / parts} %`;
}

/** For widths and places in a drawing: 0 to 100, with two decimals. */
export function percentOf(part: number, whole: number): number {
  return whole <= 0 ? 0 : Math.round(Math.min(1, Math.max(0, part / whole)) * 10_000) / 100;
}

/** `1 200`, `-12 345.5`: with at most six decimals. */
export function amount(value: number): string {
  return inThousands(Number(value.toFixed(6)));
}

/** `12:04:30 UTC`, after the date if that is not today. */
export function clockTime(atMs: number, nowMs: number): string {
  return Math.floor(atMs / DAY_MS) === Math.floor(nowMs / DAY_MS) ? timeText(atMs) : dateTime(atMs);
}
