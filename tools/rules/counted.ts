/**
 * Whether anything was counted in this window. `increase` does not see what a series is born with: where the first poll
 * of a new process comes before its first scrape, that is all there is. An hour, so that a scrape that failed then does
 * not make an old series a new one.
 */
export function counted(counter: string, window: string): string {
  return `sum without (outcome, reason, cause) (
    increase(${counter}[${window}]) > 0
    or ${counter} > 0
      unless last_over_time(${counter}[1h] offset ${window})
  )`;
}

/** Its newest value before a window. A scrape that failed just then does not hide it. */
export function before(counter: string, window: string): string {
  return `last_over_time(${counter}[1d] offset ${window})`;
}
