import { DAY_MS, SECOND_MS } from "../time/duration.ts";
import type { Slots } from "./slots.ts";

/** One slot in each period, reckoned from 1970, so many seconds after its beginning. */
export function slotsEvery(periodSeconds: number, phaseSeconds: number): Slots {
  const [periodMs, phaseMs] = [periodSeconds * SECOND_MS, phaseSeconds * SECOND_MS];
  const slotsUntil = (wallMs: number): number => Math.floor((wallMs - phaseMs) / periodMs);
  return {
    text: `every ${periodSeconds}s at ${phaseSeconds}s`,
    isEven: true,
    watchedRatio: 1,
    slotsPerDay: DAY_MS / periodMs,
    usualGapMs: periodMs,
    shortestGapMs: periodMs,
    longestGapMs: periodMs,
    next: (wallMs) => (Number.isFinite(wallMs) ? (slotsUntil(wallMs) + 1) * periodMs + phaseMs : Infinity),
    countBetween(fromMs, toMs) {
      if (!Number.isFinite(fromMs) || !Number.isFinite(toMs)) return 0;
      return Math.max(0, slotsUntil(toMs) - slotsUntil(fromMs));
    },
    mostWithin: (windowMs) => Math.ceil(windowMs / periodMs),
  };
}

/** By their text; undefined for what is none. */
export function readEvery(text: string): Slots | undefined {
  const [, period, phase] = /^every (\d+)s at (\d+)s$/.exec(text) ?? [];
  return period === undefined ? undefined : slotsEvery(Number(period), Number(phase));
}
