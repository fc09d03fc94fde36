export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** What is kept by the hour is kept by this number: whole hours since 1970. */
export function hourOf(atMs: number): number {
  return Math.floor(atMs / HOUR_MS);
}

/** The largest comes last. */
export const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: SECOND_MS,
  m: MINUTE_MS,
  h: HOUR_MS,
  d: DAY_MS,
};

/** `15s`, `500ms`, `30d`: one whole number and one unit. */
export function parseDuration(text: string): number | undefined {
  return parseAmount(text, UNITS_MS);
}

/** In the largest unit that says it with a whole number; part milliseconds are rounded. */
export function formatDuration(durationMs: number): string {
  const wholeMs = Math.round(durationMs);
  return wholeMs === 0 ? "0s" : formatAmount(wholeMs, UNITS_MS);
}

/** A whole number in one of some units, such as `15s`, or `64KiB` in those of bytes. Of the units, the largest comes last. */
type Units = Readonly<Record<string, number>>;

export function parseAmount(text: string, units: Units): number | undefined {
  const [, number, unit = ""] = /^(\d{1,12})([A-Za-z]+)$/.exec(text) ?? [];
  const size = Object.hasOwn(units, unit) ? units[unit] : undefined;
  const amount = size === undefined ? undefined : Number(number) * size;
  return Number.isSafeInteger(amount) ? amount : undefined;
}

/** In the largest unit that says it with a whole number. */
export function formatAmount(amount: number, units: Units): string {
  const [unit, size] = Object.entries(units).findLast(([, each]) => amount % each === 0) ?? ["", 1];
  return `${amount / size}${unit}`;
}
