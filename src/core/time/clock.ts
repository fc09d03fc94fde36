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
