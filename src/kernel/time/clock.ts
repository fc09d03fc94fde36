/**
 * Two clocks that run undisturbed agree to 0.1 %. What must outlast a time that somebody else measures is kept so much
 * longer, and what must end before it is used so much shorter.
 */
export const CLOCK_RATE_MARGIN = 1.001;

export interface Clock {
  /** Monotonic milliseconds: never steps, and keeps counting while the process is stopped. */
  now(): number;
  /** Milliseconds since the epoch: for schedules and display, never for budgets. */
  wallNow(): number;
  /**
   * Resolves after `delayMs`, or at once when the signal aborts: look at the signal to tell which. Without a signal it
   * cannot be cut short, and the process does not live on for it.
   */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}
