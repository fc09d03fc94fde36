/** When an upstream is polled. */

import type { z } from "zod";
import { DAY_MS, parseDuration, SECOND_MS, UNITS_MS } from "../../kernel/time/duration.ts";
import { zoneSpans } from "../../kernel/time/time-zone.ts";
import { parseCron } from "../../kernel/schedule/parse-cron.ts";
import { type Schedule, scheduleCron, scheduleEvery } from "../../kernel/schedule/schedule.ts";
import { checked, reading } from "../keys/leaves.ts";
import { noted } from "../keys/notes.ts";
import { amountsPattern, CRON_PATTERN, TIME_ZONE_PATTERN } from "../keys/patterns.ts";

/** Exactly one of them. */
export const SCHEDULE_KEYS = ["every", "cron"] as const;

const CRON_PHRASE = "a cron expression";
const ZONE_PHRASE = "the name of a time zone, such as Europe/Berlin";

/** Triggers know whole seconds only. */
const { ms: _, ...LARGER_UNITS } = UNITS_MS;
const PERIOD_UNITS = { "000ms": SECOND_MS, ...LARGER_UNITS };
const period = reading(
  amountsPattern(PERIOD_UNITS, SECOND_MS, DAY_MS),
  "a period of whole seconds from 1s to 1d, such as 15s, 90s or 5m",
  parseDuration,
);

function zoneFault(name: string): string | undefined {
  return zoneSpans(name) === undefined ? ZONE_PHRASE : undefined;
}

function cronFault(text: string): string | undefined {
  const reading = parseCron(text);
  return reading.kind === "cron" ? undefined : `${CRON_PHRASE}: ${reading.message}`;
}

type ScheduleKeys = Readonly<
  Record<"cron" | "time_zone", z.ZodOptional<z.ZodType<string, string>>> &
    Record<"every", z.ZodOptional<z.ZodType<number, string>>>
>;

export const scheduleKeys: ScheduleKeys = {
  every: noted(period, { isNeeded: true })
    .optional()
    .describe(
      "The period: whole seconds, from 1s to 1d. Its slots are reckoned from 1970, and its phase comes from the name, so that they stay where they are over restarts. At each start, and when it is new, an upstream is polled once before its first slot, unless its method is not safe or a poll costs money.",
    ),
  cron: noted(checked(cronFault, CRON_PHRASE, CRON_PATTERN), { isNeeded: true })
    .optional()
    .describe(
      "Instead of every: 5 or 6 fields (seconds first) in UTC or time_zone; numbers, names such as MON and JAN, lists, ranges, steps, or @hourly, @daily, @weekly, @monthly, @yearly. Days must match both day fields. It is polled at no other time, except to confirm a failure.",
    ),
  time_zone: noted(checked(zoneFault, ZONE_PHRASE, TIME_ZONE_PATTERN), { isNeeded: true })
    .optional()
    .describe(
      "In which cron is read, instead of UTC; every is the same in all. At a change of daylight saving, a fixed hour that is skipped or comes twice is polled once, and what runs in every hour runs on.",
    ),
};

/** An upstream without a schedule, or with two, is refused by its rule, and has none. */
export function scheduleOf(
  name: string,
  {
    every,
    cron,
    timeZone,
  }: Readonly<Record<"cron" | "timeZone", string | undefined> & Record<"every", number | undefined>>,
): Schedule | undefined {
  if (every !== undefined) return cron === undefined ? scheduleEvery(every, name) : undefined;
  const reading = cron === undefined ? undefined : scheduleCron(cron, timeZone);
  return reading?.kind === "schedule" ? reading.schedule : undefined;
}
