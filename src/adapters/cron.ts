import { createTask, type ScheduledTask } from "node-cron";

import type { Log } from "../core/log.ts";
import type { Trigger, Triggers } from "../core/ports.ts";

/** Just before a beat, and longer than a timer is imprecise. */
const GUARD_LEAD_MS = 2;
/** What node-cron still takes for punctual. */
const TOLERANCE_MS = 1_000;
/** node-cron wakes that often at least. */
const LONGEST_SLEEP_MS = 86_400_000;

/**
 * node-cron as a trigger and nothing else. UTC, because local time pauses for an hour at a change of daylight
 * saving. It sleeps by the wall clock: who uses this must replan it when that clock was stepped.
 */
export function cronTriggers(log: Log): Triggers {
  const logger = {
    info: (message: string) => log.debug({}, message),
    warn: (message: string) => log.debug({}, message),
    error: (message: string | Error) => log.error({}, `trigger: ${String(message)}`),
    debug: (message: string | Error) => log.debug({}, String(message)),
  };
  return {
    start(expression, onTick): Trigger {
      const task: ScheduledTask = createTask(expression, (context) => onTick(context.date.getTime()), {
        timezone: "UTC",
        logger,
        suppressMissedWarning: true,
      });
      void task.start();
      const guard = new Guard(task);
      return {
        replan: () => guard.replan(),
        stop: () => {
          guard.stop();
          void task.destroy();
        },
      };
    },
  };
}

/**
 * A beat that comes late goes through everything that it missed, one by one and at once: after a clock was set
 * ahead by a day, or a machine slept for one, a schedule of seconds would hold the whole process for as long as
 * 86,400 matches take. So somebody gets up just before each beat, and plans it anew where that has happened.
 */
class Guard {
  readonly #task: ScheduledTask;
  #timer: NodeJS.Timeout | undefined;

  constructor(task: ScheduledTask) {
    this.#task = task;
    this.#watch();
  }

  replan(): void {
    void this.#task.stop();
    void this.#task.start();
    this.#watch();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #watch(): void {
    clearTimeout(this.#timer);
    const nowMs = Date.now();
    // Where this is just before a beat, it is the beat after that which is to be watched next.
    const beatsMs = this.#task.getNextRuns(2).map((beat) => beat.getTime());
    const beatMs = beatsMs.find((atMs) => atMs - nowMs > 2 * GUARD_LEAD_MS) ?? Number.POSITIVE_INFINITY;
    const sleepMs = Math.min(beatMs - nowMs, LONGEST_SLEEP_MS) - GUARD_LEAD_MS;
    this.#timer = setTimeout(() => {
      if (Math.abs(Date.now() - nowMs - sleepMs) > TOLERANCE_MS) this.replan();
      else this.#watch();
    }, sleepMs);
  }
}
