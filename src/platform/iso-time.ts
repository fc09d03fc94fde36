/** `2026-10-25T14:00:00.000Z`. A time outside the calendar breaks nothing. */
export function isoTime(atMs: number): string {
  const date = new Date(atMs);
  return Number.isNaN(date.getTime()) ? "unknown time" : date.toISOString();
}
