export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** What is kept by the hour is kept by this number: whole hours since 1970. */
export function hourOf(atMs: number): number {
  return Math.floor(atMs / HOUR_MS);
}

type DurationUnit = "ms" | "s" | "m" | "h" | "d";
export const UNITS_MS: Readonly<Record<DurationUnit, number>> = {
  ms: 1,
  s: SECOND_MS,
  m: MINUTE_MS,
  h: HOUR_MS,
  d: DAY_MS,
};

export const DURATION_PATTERN: RegExp = /^(\d{1,12})(ms|s|m|h|d)$/;

/** `15s`, `500ms`, `30d`: one whole number and one unit. */
export function parseDuration(text: string): number | undefined {
  const match = DURATION_PATTERN.exec(text);
  const amount = match?.[1];
  const unit = match?.[2];
  if (amount === undefined || !isUnit(unit)) return undefined;
  const durationMs = Number(amount) * UNITS_MS[unit];
  return Number.isSafeInteger(durationMs) ? durationMs : undefined;
}

/** In the largest unit that says it with a whole number; part milliseconds are rounded. */
export function formatDuration(durationMs: number): string {
  const wholeMs = Math.round(durationMs);
  if (wholeMs === 0) return "0s";
  for (const unit of ["d", "h", "m", "s"] as const) {
    if (wholeMs % UNITS_MS[unit] === 0) return `${wholeMs / UNITS_MS[unit]}${unit}`;
  }
  return `${wholeMs}ms`;
}

function isUnit(unit: string | undefined): unit is DurationUnit {
  return unit !== undefined && Object.hasOwn(UNITS_MS, unit);
}
