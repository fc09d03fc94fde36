import type { Schedule } from "./schedule.ts";

/** One trigger for each distinct expression. */
export interface Triggers {
  start(schedule: Schedule, onTick: (scheduledAtMs: number) => void): Trigger;
}

export interface Trigger {
  /** Plans the next tick anew from the wall clock as it is now. */
  replan(): void;
  stop(): void;
}
