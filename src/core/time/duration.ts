export const UNITS_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

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

function isUnit(unit: string | undefined): unit is keyof typeof UNITS_MS {
  return unit !== undefined && Object.hasOwn(UNITS_MS, unit);
}
