import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../kernel/time/duration.ts";

/** Durations and numbers as people write them. */

export const UNITS: readonly (readonly [unitMs: number, name: string])[] = [
  [DAY_MS, "d"],
  [HOUR_MS, "h"],
  [MINUTE_MS, "min"],
  [SECOND_MS, "s"],
];

/** Rounded down. Below ten of a unit, the next smaller unit is added: `2 d 4 h`, `14 min`, `3 min 20 s`, `340 ms`. */
export function humanDuration(ms: number): string {
  const index = UNITS.findIndex(([unitMs]) => ms >= unitMs);
  const [unitMs, name] = UNITS[index] ?? [1, "ms"];
  const amount = Math.floor(Math.max(0, ms) / unitMs);
  const [smallerMs, smallerName] = UNITS[index + 1] ?? [unitMs, ""];
  const rest = Math.floor((ms - amount * unitMs) / smallerMs);
  if (index === -1 || amount >= 10 || rest <= 0 || smallerMs === unitMs) return `${amount} ${name}`;
  return `${amount} ${name} ${rest} ${smallerName}`;
}

/** The duration of one poll: `0.3 ms`, `87 ms`, `1.24 s`, `10 s`. */
export function humanLatency(ms: number): string {
  if (ms < 9.95) return `${Number(ms.toFixed(1))} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  return `${Number((ms / 1000).toFixed(ms < 9_995 ? 2 : 1))} s`;
}

/** `1 200 345.5`: easier to read than the bare digits. Its spaces are thin, as a page has them. */
export function inThousands(amount: number | string, space: string = "\u202f"): string {
  const [whole = "", decimals] = String(amount).split(".");
  if (whole.length < 4) return String(amount);
  const separated = whole.replaceAll(/\B(?=(?:\d{3})+$)/g, space);
  return decimals === undefined ? separated : `${separated}.${decimals}`;
}
