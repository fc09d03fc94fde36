import { civilDayOf, twoDigits, weekdayOf, WEEKDAYS } from "../../kernel/time/civil-day.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../kernel/time/duration.ts";

export type Tick = { readonly atMs: number; readonly words: string };

/** The first of these of which no more than so many fit is taken: a label has room on a phone, or every second has. */
const STEPS_MS = [10 * MINUTE_MS, 4 * HOUR_MS, DAY_MS, 7 * DAY_MS] as const;
const MOST_TICKS = 7;
/** 1970 began on a Thursday, and weeks begin on Mondays. */
const MONDAY_MS = 4 * DAY_MS;

/** In UTC, like every time of the page: `17:40` within a day, `Mon 23` at its beginning. */
export function ticksOf(fromMs: number, toMs: number): readonly Tick[] {
  const stepMs = STEPS_MS.find((step) => (toMs - fromMs) / step <= MOST_TICKS) ?? 7 * DAY_MS;
  const ticks: Tick[] = [];
  for (let atMs = Math.ceil((fromMs - MONDAY_MS) / stepMs) * stepMs + MONDAY_MS; atMs < toMs; atMs += stepMs)
    ticks.push({ atMs, words: tickWords(atMs) });
  return ticks;
}

function tickWords(atMs: number): string {
  const day = Math.floor(atMs / DAY_MS);
  const minutes = Math.floor((atMs - day * DAY_MS) / MINUTE_MS);
  if (minutes > 0) return `${twoDigits(minutes / 60)}:${twoDigits(minutes % 60)}`;
  return `${WEEKDAYS[weekdayOf(day)]?.slice(0, 3) ?? ""} ${civilDayOf(day).day}`;
}

/** Logarithmic, so that 80 ms, an objective of 1 s and a timeout of 10 s all fit. */
export type Scale = {
  /** In pixels from the top. */
  readonly y: (ms: number) => number;
  /** The powers of ten within the scale. */
  readonly gridMs: readonly number[];
};

const STEPS = [1, 2, 5] as const;
/** The scale spans at least one power of ten. */
const LEAST_RATIO = 10;

export function scaleFor(valuesMs: readonly number[], height: number, padding: number): Scale {
  const known = valuesMs.filter((ms) => Number.isFinite(ms)).map((ms) => Math.max(1, ms));
  const lowMs = roundedDown(known.length === 0 ? 10 : Math.min(...known));
  const highMs = Math.max(
    lowMs * LEAST_RATIO,
    roundedUp((known.length === 0 ? 1000 : Math.max(...known)) * 1.05),
  );
  const [low, high] = [Math.log10(lowMs), Math.log10(highMs)];
  const y = (ms: number): number => {
    const part = (Math.log10(Math.min(highMs, Math.max(lowMs, ms))) - low) / (high - low);
    return Math.round((padding + (1 - part) * (height - 2 * padding)) * 10) / 10;
  };
  const decades = Array.from(
    { length: Math.floor(high) - Math.ceil(low) + 1 },
    (_, index) => Math.ceil(low) + index,
  );
  return { y, gridMs: decades.map((decade) => 10 ** decade) };
}

function roundedDown(ms: number): number {
  const decade = 10 ** Math.floor(Math.log10(ms));
  return decade * (STEPS.findLast((step) => step * decade <= ms) ?? 1);
}

function roundedUp(ms: number): number {
  const decade = 10 ** Math.floor(Math.log10(ms));
  return decade * (STEPS.find((step) => step * decade >= ms) ?? 10);
}
