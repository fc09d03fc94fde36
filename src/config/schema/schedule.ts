/** When an upstream is polled. */

import type { z } from "zod";
import { parseDuration } from "../../core/time/duration.ts";
import { zoneSpans } from "../../core/time/time-zone.ts";
import { parseCron } from "../../core/schedule/parse-cron.ts";
import {
  LEGAL_PERIODS_MS,
  type Schedule,
  scheduleCron,
  scheduleEvery,
} from "../../core/schedule/schedule.ts";
import { checked } from "../keys/leaves.ts";
import { noted } from "../keys/notes.ts";
import { CRON_PATTERN, TIME_ZONE_PATTERN, durationsPattern } from "../keys/patterns.ts";

/** Exactly one of them. */
export const SCHEDULE_KEYS = ["every", "cron"] as const;

const EVERY_PHRASE = "a period such as 15s, 5m or 1h";
const CRON_PHRASE = "a cron expression";
const ZONE_PHRASE = "the name of a time zone, such as Europe/Berlin";

function everyFault(text: string): string | undefined {
  const periodMs = parseDuration(text);
  if (periodMs === undefined) return EVERY_PHRASE;
  const reading = scheduleEvery(periodMs, "");
  if (reading.kind === "schedule") return undefined;
  return `a period that divides a minute, an hour or a day evenly (${reading.message})`;
}

function zoneFault(name: string): string | undefined {
  return zoneSpans(name) === undefined ? ZONE_PHRASE : undefined;
}

function cronFault(text: string): string | undefined {
  const reading = parseCron(text);
  return reading.kind === "cron" ? undefined : `${CRON_PHRASE}: ${reading.message}`;
}

type ScheduleKeys = Readonly<
  Record<"every" | "cron" | "time_zone", z.ZodOptional<z.ZodType<string, string>>>
>;

export const scheduleKeys: ScheduleKeys = {
  every: noted(checked(everyFault, EVERY_PHRASE, durationsPattern(LEGAL_PERIODS_MS)), { isNeeded: true })
    .optional()
    .describe(
      "The period: seconds that divide 60, minutes that divide 60, or hours that divide 24. Its phase comes from the name. A new upstream is polled once before its first slot, unless its method is not safe or a poll costs money.",
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
  { every, cron, timeZone }: Readonly<Record<"every" | "cron" | "timeZone", string | undefined>>,
): Schedule | undefined {
  if ((every === undefined) === (cron === undefined)) return undefined;
  const reading =
    cron === undefined ? scheduleEvery(parseDuration(every ?? "") ?? 0, name) : scheduleCron(cron, timeZone);
  return reading.kind === "schedule" ? reading.schedule : undefined;
}
