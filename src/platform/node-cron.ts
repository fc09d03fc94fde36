import { type ScheduledTask, schedule as startTask } from "node-cron";
import { slotsOf } from "../kernel/schedule/schedule.ts";
import type { Trigger, Triggers } from "../kernel/schedule/triggers.ts";
import type { Log } from "../kernel/text/log.ts";

/** Whole seconds; a tick that is later than this is missed. */
const LATE_AT_MOST_MS = 1_000;

/** However late a wake-up is, it is one, and what was missed is told in our own accounts. */
const OPTIONS: Parameters<typeof startTask>[2] = {
  timezone: "UTC",
  missedExecutionTolerance: Infinity,
  suppressMissedWarning: true,
};

/**
 * node-cron wakes us at the time of day of the next slot; which slots there are is read from the schedule alone. A task
 * for the whole expression would go through everything that it missed one by one: after the clock was set ahead by a
 * day, that blocks the process for ten seconds. UTC, because local time pauses for an hour at a change of daylight
 * saving. Ticks follow the wall clock: replan them when it was stepped.
 */
export function cronTriggers(log: Log): Triggers {
  return {
    start(schedule, onTick): Trigger {
      let task: ScheduledTask | undefined;
      let late: NodeJS.Immediate | undefined;
      let nextMs = 0;

      function plan(): void {
        void task?.destroy();
        nextMs = slotsOf(schedule).next(Date.now());
        task = startTask(timeOfDay(nextMs), beat, OPTIONS);
        // Its second has come meanwhile, and node-cron would wake us tomorrow.
        if (Date.now() >= nextMs) late = setImmediate(beat);
      }

      function beat(): void {
        const secondMs = Math.floor(Date.now() / 1_000) * 1_000;
        // The slot is on another day, or the clock was set back.
        if (secondMs < nextMs) return;
        const dueMs = [secondMs, secondMs - LATE_AT_MOST_MS].find(
          (atMs) => atMs >= nextMs && slotsOf(schedule).next(atMs - 1) === atMs,
        );
        plan();
        if (dueMs === undefined) return;
        try {
          onTick(dueMs);
        } catch (error) {
          log.error({}, `trigger failed: ${String(error)}`);
        }
      }

      plan();
      return {
        replan: plan,
        stop: () => {
          clearImmediate(late);
          void task?.destroy();
        },
      };
    },
  };
}

function timeOfDay(atMs: number): string {
  const at = new Date(atMs);
  return `${at.getUTCSeconds()} ${at.getUTCMinutes()} ${at.getUTCHours()} * * *`;
}
