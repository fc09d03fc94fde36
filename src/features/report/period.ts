import { civilDayOf, dayNumberOf, dayText } from "../../kernel/time/civil-day.ts";
import { zoneSpans } from "../../kernel/time/time-zone.ts";
import { DAY_MS } from "../../kernel/time/duration.ts";

/** The first and the last day of a report, counted since 1970-01-01; in each zone they begin at its own midnight. */
export type Asked = {
  readonly firstDay: number;
  readonly lastDay: number;
  /** Where nobody named a period and nothing is known of the month before: this month. */
  readonly ifEmpty?: Asked;
};

export type Span = {
  /** `2026-10-25`, or `2026-10` for a month. */
  readonly name: string;
  readonly fromMs: number;
  /** Of a month and of a day that are not over: when they will be. */
  readonly toMs: number;
};

export type Month = Span & {
  /** Whether all of its days are in the report. */
  readonly isWhole: boolean;
};

/** In one time zone. */
export type Period = {
  readonly timeZone: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** In order. Those that have not begun are left out. */
  readonly days: readonly Span[];
  readonly months: readonly Month[];
};

const LONGEST_DAYS = 400;

/** What a person wrote: a month, or a first and a last day. A sentence where it is nothing of the kind. */
export function askedFor(
  written: {
    readonly month?: string | undefined;
    readonly from?: string | undefined;
    readonly to?: string | undefined;
  },
  nowMs: number,
): Asked | string {
  const today = Math.floor(nowMs / DAY_MS);
  const { month, from, to } = written;
  if (month !== undefined && (from !== undefined || to !== undefined))
    return "month needs neither from nor to";
  if (from === undefined && to === undefined) {
    const days = month === undefined ? monthBefore(today) : daysOfMonth(month);
    return days ?? `month must be like 2026-10, received ${JSON.stringify(month)}`;
  }
  const firstDay = dayNumberOf(from ?? "");
  const lastDay = to === undefined ? today : dayNumberOf(to);
  if (firstDay === undefined)
    return `from must be a day such as 2026-10-01, received ${JSON.stringify(from ?? "")}`;
  if (lastDay === undefined) return `to must be a day such as 2026-10-31, received ${JSON.stringify(to)}`;
  if (lastDay < firstDay || lastDay - firstDay >= LONGEST_DAYS)
    return `to must be from 0 to ${LONGEST_DAYS - 1} days after from`;
  return { firstDay, lastDay };
}

function daysOfMonth(month: string): Asked | undefined {
  const firstDay = dayNumberOf(`${month}-01`);
  if (firstDay === undefined || !/^\d{4}-\d{2}$/.test(month)) return undefined;
  return { firstDay, lastDay: nextMonth(firstDay) - 1 };
}

/** The last one that is over. */
function monthBefore(today: number): Asked {
  const lastDay = today - civilDayOf(today).day;
  const ifEmpty = { firstDay: lastDay + 1, lastDay: nextMonth(lastDay + 1) - 1 };
  return { firstDay: lastDay - civilDayOf(lastDay).day + 1, lastDay, ifEmpty };
}

function nextMonth(firstDay: number): number {
  const later = firstDay + 31;
  return later - civilDayOf(later).day + 1;
}

export function periodOf({ firstDay, lastDay }: Asked, timeZone: string, nowMs: number): Period {
  const days: Span[] = [];
  for (let day = firstDay; day <= lastDay && midnight(day, timeZone) <= nowMs; day += 1)
    days.push({ name: dayText(day), fromMs: midnight(day, timeZone), toMs: midnight(day + 1, timeZone) });
  const months: Month[] = [];
  for (let first = firstDay - civilDayOf(firstDay).day + 1; first <= lastDay; first = nextMonth(first)) {
    const next = nextMonth(first);
    const [from, to] = [Math.max(first, firstDay), Math.min(next - 1, lastDay) + 1];
    const isWhole = from === first && to === next;
    const name = dayText(first).slice(0, 7);
    const month = { name, fromMs: midnight(from, timeZone), toMs: midnight(to, timeZone), isWhole };
    if (month.fromMs <= nowMs) months.push(month);
  }
  return {
    timeZone,
    fromMs: midnight(firstDay, timeZone),
    toMs: midnight(lastDay + 1, timeZone),
    days,
    months,
  };
}

/** Where a change of the clock skips midnight, the day begins with the change; where midnight comes twice, with the first. */
function midnight(day: number, timeZone: string): number {
  const localMs = day * DAY_MS;
  for (const { fromMs, toMs, offsetMs } of zoneSpans(timeZone) ?? []) {
    if (localMs - offsetMs < toMs) return Math.max(localMs - offsetMs, fromMs);
  }
  return localMs;
}
