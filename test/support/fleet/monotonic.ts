/** The machine's own monotonic clock: the same for all processes on it, whenever they were started. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
