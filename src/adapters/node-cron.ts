import { createTask, type ScheduledTask } from "node-cron";
import type { Log } from "../core/text/log.ts";
import type { Trigger, Triggers } from "../core/schedule/triggers.ts";

/** More than node-cron takes for punctual; what is later than this is missed, however much it is. */
const CATCH_UP_AT_MOST_MS = 10_000;

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
      boundCatchUp(task);
      void task.start();
      return {
        replan: () => {
          void task.stop();
          void task.start();
        },
        stop: () => void task.destroy(),
      };
    },
  };
}

type TimeMatcher = { getNextMatch(date: Date): Date };

/**
 * A beat that comes late goes through everything that it missed, one by one and at once: after a clock was set
 * ahead by a day, a schedule of seconds holds the whole process for as long as 86,400 matches take, ten seconds.
 * No option bounds that, so this reaches inside: what is long past is passed over in one stride.
 */
function boundCatchUp(task: ScheduledTask): void {
  const matcher = timeMatcherOf(task);
  if (matcher === undefined) throw new Error("cannot bound node-cron: its task must hold a time matcher");
  const nextMatch = matcher.getNextMatch.bind(matcher);
  matcher.getNextMatch = (date) => {
    const earliestMs = Math.floor((Date.now() - CATCH_UP_AT_MOST_MS) / 1_000) * 1_000;
    return nextMatch(date.getTime() < earliestMs ? new Date(earliestMs) : date);
  };
}

function timeMatcherOf(task: object): TimeMatcher | undefined {
  if (!("timeMatcher" in task)) return undefined;
  const { timeMatcher } = task;
  return isTimeMatcher(timeMatcher) ? timeMatcher : undefined;
}

function isTimeMatcher(value: unknown): value is TimeMatcher {
  return (
    typeof value === "object" &&
    value !== null &&
    "getNextMatch" in value &&
    typeof value.getNextMatch === "function"
  );
}
