/** One trigger for each distinct cron expression. */
export interface Triggers {
  start(expression: string, onTick: (scheduledAtMs: number) => void): Trigger;
}

export interface Trigger {
  /** Plans the next tick anew from the wall clock as it is now. */
  replan(): void;
  stop(): void;
}
