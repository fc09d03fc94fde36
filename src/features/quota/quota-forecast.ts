/**
 * When our own quota is used up. It is rolling: each hour, what was sent a whole period ago leaves it. So a quota that
 * is used evenly never ends, however full it is, and one that would end later than it refills does not end either.
 */

import { type Burn, BURN_WINDOWS, type BurnWindow, LEAST_OF_A_WINDOW, WINDOW_MS } from "../history/credit.ts";
import type { Quota } from "../../proof/part.ts";
import { HOUR_MS, hourOf } from "../../kernel/time/duration.ts";
import type { QuotaBuckets } from "./quota.ts";

/** We have a quota and a spend of our own; answers tell others, named by how long their window is at least. */
export const QUOTAS = ["own", "spend", "1d", "7d", "30d"] as const;
export type QuotaName = (typeof QUOTAS)[number];

/** Burns of a quota are parts of it: 0.5 is half. */
export type QuotaForecast = { readonly quota: QuotaName; readonly burns: readonly Burn[] };

export type QuotaUse = {
  readonly used: number;
  /** By hour. */
  readonly buckets: QuotaBuckets;
};

/** `nowMs` is of the calendar that names the hours. What is spent is told as a part of the quota. */
export function quotaBurns(
  { most, perMs }: Pick<Quota, "most" | "perMs">,
  use: QuotaUse,
  nowMs: number,
): readonly Burn[] {
  let firstHour = Infinity;
  for (const hour of use.buckets.keys()) firstHour = Math.min(firstHour, hour);
  return BURN_WINDOWS.map((window) => {
    const perMsNow = paceOver(window, firstHour, use, nowMs);
    return {
      window,
      perSecond: perMsNow === undefined ? undefined : (perMsNow * 1000) / most,
      emptyAtMs: usedUpAtMs(most, perMs, perMsNow ?? 0, use, nowMs),
    };
  });
}

/**
 * In units for each millisecond, over whole hours and the present one. Of the first hour of all, nobody knows how
 * much of it was watched.
 */
function paceOver(
  window: BurnWindow,
  firstHour: number,
  { buckets }: QuotaUse,
  nowMs: number,
): number | undefined {
  const fromHour = Math.max(hourOf(nowMs - WINDOW_MS[window]), firstHour + 1);
  const lengthMs = nowMs - fromHour * HOUR_MS;
  if (!(lengthMs >= WINDOW_MS[window] * LEAST_OF_A_WINDOW)) return undefined;
  let sent = 0;
  for (let hour = fromHour; hour <= hourOf(nowMs); hour += 1) sent += buckets.get(hour) ?? 0;
  return sent / lengthMs;
}

function usedUpAtMs(
  allowed: number,
  periodMs: number,
  paceMs: number,
  { used, buckets }: QuotaUse,
  nowMs: number,
): number | undefined {
  let left = allowed - used;
  if (left <= 0) return nowMs;
  // Requests that leave it meanwhile only help. Most quotas are far from their end, and need no look at each hour.
  if (paceMs * (periodMs + HOUR_MS) < left) return undefined;
  const oldestHour = hourOf(nowMs - periodMs);
  let known = 0;
  for (const [hour, requests] of buckets) if (hour >= oldestHour) known += requests;
  // Nobody knows in which hours this was sent, so it leaves evenly.
  const unknownAnHour = (Math.max(0, used - known) * HOUR_MS) / periodMs;
  let atMs = nowMs;
  for (let hour = hourOf(nowMs) + 1; atMs < nowMs + periodMs; hour += 1) {
    const nextMs = hour * HOUR_MS;
    const sent = paceMs * (nextMs - atMs);
    if (sent >= left) return atMs + left / paceMs;
    const leavingHour = hourOf(nextMs - periodMs) - 1;
    left += (buckets.get(leavingHour) ?? 0) + unknownAnHour - sent;
    atMs = nextMs;
  }
  return undefined;
}
