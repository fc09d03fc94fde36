import { type Burn, type BurnWindow, worstBurn } from "./credit.ts";
import { humanDuration } from "../../platform/humanize.ts";
import { dateTime, dayText, weekdayOf, WEEKDAYS } from "../../kernel/time/civil-day.ts";
import { MINUTE_MS, HOUR_MS, DAY_MS } from "../../kernel/time/duration.ts";

const PACE: Readonly<Record<BurnWindow, string>> = { "1h": "hour", "1d": "day", "7d": "week" };

/** From then on, hours and minutes matter. */
const SOON_MS = 6 * HOUR_MS;
/** The same weekday of two weeks must not be mixed up. */
const WEEKDAYS_MS = 6 * DAY_MS;

/** When a credit runs out: "At the pace of the last day, empty on Tuesday about 14:00 UTC." */
export function creditSentence(burns: readonly Burn[], nowMs: number): string {
  return endSentence(burns, nowMs, {
    empty: "It is empty.",
    lasts: "At the present pace it lasts for more than a year.",
    unknown: "Its pace is not known yet: that takes half an hour, or up to a day with polls hours apart.",
  });
}

/** `otherwise`: where no end is in sight, or none is ahead. */
export function endSentence(
  burns: readonly Burn[],
  nowMs: number,
  otherwise: Readonly<Record<"empty" | "lasts" | "unknown", string>>,
): string {
  const worst = worstBurn(burns);
  const { emptyAtMs } = worst ?? {};
  if (worst === undefined || emptyAtMs === undefined) {
    return burns.some(({ perSecond }) => perSecond !== undefined) ? otherwise.lasts : otherwise.unknown;
  }
  if (emptyAtMs <= nowMs) return otherwise.empty;
  return `At the pace of the last ${PACE[worst.window]}, empty ${moment(emptyAtMs, nowMs)}.`;
}

/** `on Tuesday about 14:00 UTC` */
export function moment(atMs: number, nowMs: number): string {
  const leftMs = atMs - nowMs;
  if (leftMs < SOON_MS) {
    // Coarser, it might be past already.
    const stepMs = leftMs < HOUR_MS ? MINUTE_MS : 10 * MINUTE_MS;
    const aboutMs = Math.round(atMs / stepMs) * stepMs;
    return `in ${humanDuration(Math.ceil(leftMs / MINUTE_MS) * MINUTE_MS)}, about ${timeOf(aboutMs, nowMs)}`;
  }
  const aboutMs = Math.round(atMs / HOUR_MS) * HOUR_MS;
  const day = Math.floor(aboutMs / DAY_MS);
  if (leftMs < WEEKDAYS_MS) return `on ${WEEKDAYS[weekdayOf(day)] ?? ""} about ${timeOf(aboutMs, aboutMs)}`;
  return `on ${dayText(day)}`;
}

/** With its date where that is another day than the reader's. */
function timeOf(atMs: number, nowMs: number): string {
  const text = dateTime(atMs).replace(":00 UTC", " UTC");
  return text.startsWith(dayText(Math.floor(nowMs / DAY_MS))) ? text.slice("2026-10-25 ".length) : text;
}
