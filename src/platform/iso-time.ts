/** `2026-10-25T14:00:00.000Z` */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}
