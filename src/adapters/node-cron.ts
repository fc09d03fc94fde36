import { createTask } from "node-cron";
import type { Log } from "../core/text/log.ts";
import type { Trigger, Triggers } from "../core/schedule/triggers.ts";
import { DAY_MS } from "../core/time/duration.ts";

/** Whole seconds; a tick that is later than this is missed. */
const LATE_AT_MOST_MS = 1_000;

/** setTimeout's limit is 24.8 days. */
const LONGEST_TIMER_MS = DAY_MS;

/**
 * node-cron reads the expressions, and nothing else: its own runner goes through everything that it missed one by one,
 * and after the clock was set ahead by a day that blocks the process for ten seconds. UTC, because local time pauses
 * for an hour at a change of daylight saving. Ticks follow the wall clock: replan them when it was stepped.
 */
export function cronTriggers(log: Log): Triggers {
  return {
    start(expression, onTick): Trigger {
      const task = createTask(expression, () => {}, { timezone: "UTC" });
      let timer: NodeJS.Timeout | undefined;
      let nextMs = 0;

      function plan(): void {
        nextMs = task.getNextRuns(1)[0]?.getTime() ?? Number.POSITIVE_INFINITY;
        arm();
      }

      function arm(): void {
        clearTimeout(timer);
        timer = setTimeout(beat, Math.min(LONGEST_TIMER_MS, Math.max(0, nextMs - Date.now())));
      }

      function beat(): void {
        const secondMs = Math.floor(Date.now() / 1_000) * 1_000;
        if (secondMs < nextMs) return arm();
        const dueMs = [secondMs, secondMs - LATE_AT_MOST_MS].find(
          (atMs) => atMs === nextMs || (atMs > nextMs && task.match(new Date(atMs))),
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
          clearTimeout(timer);
          void task.destroy();
        },
      };
    },
  };
}
