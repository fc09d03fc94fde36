import { formatDuration, HOUR_MS, MINUTE_MS, SECOND_MS } from "../kernel/time/duration.ts";
import { type BudgetUse, fitsRates, type ProvenQuota } from "./numbers.ts";
import { asksOf, requestsWithin } from "./pace.ts";

/** Those that people like to read in a proposal. */
export const ROUND_PERIODS_MS: readonly number[] = [
  ...[1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30].map((seconds) => seconds * SECOND_MS),
  ...[1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 4, 6, 8, 12, 24].map((hours) => hours * HOUR_MS),
];

/** A possible change, as numbers: no even schedule is faster than this period. Many are tried. */
type Plan = { readonly share: number; readonly leastPeriodMs: number; readonly mostConfirm: number };

/** The least change of each kind that alone would fit the rates, in words; else the least share with some period. */
export function adviceForRates({ budget, upstreams }: BudgetUse): string {
  const mostConfirm = Math.max(0, ...upstreams.map(({ confirm }) => confirm));
  const current: Plan = { share: budget.share, leastPeriodMs: 0, mostConfirm };
  const fits = (change: Partial<Plan>): boolean => {
    const { share, leastPeriodMs, mostConfirm: confirm } = { ...current, ...change };
    return fitsRates({ ...budget, share }, asksOf(upstreams, leastPeriodMs, confirm));
  };
  const periodWith = (share: number): number | undefined =>
    ROUND_PERIODS_MS.find((leastPeriodMs) => fits({ share, leastPeriodMs }));
  const firstPercent = Math.floor(budget.share * 100) + 1;
  const higherPercents = range(firstPercent, Math.max(firstPercent, 101));
  const periodMs = periodWith(budget.share);
  const percent = higherPercents.find((each) => fits({ share: each / 100 }));
  const confirm = range(0, mostConfirm).findLast((each) => fits({ mostConfirm: each }));
  const ways = [
    periodMs && `poll every ${formatDuration(periodMs)}`,
    percent && `raise share to ${percent}%`,
    confirm !== undefined && `lower confirm to ${confirm}`,
  ].filter((way) => typeof way === "string");
  if (ways.length > 0) return ways.join(", or ");
  for (const each of higherPercents) {
    const both = periodWith(each / 100);
    if (both !== undefined) return `raise share to ${each}% and poll every ${formatDuration(both)}`;
  }
  return "no share and no period fits: watch fewer upstreams, or lower confirm";
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

/** Names a change with which the quota would last. */
export function adviceForQuota({ part, proof }: ProvenQuota, { upstreams }: BudgetUse): string {
  const { most, perMs } = proof.quota;
  const alike = [...Map.groupBy(upstreams, part.unitsOf)];
  const taken = (leastMs: number): number =>
    alike.reduce((sum, [units, group]) => sum + units * requestsWithin(asksOf(group, leastMs, 0), perMs), 0);
  const periodMs = ROUND_PERIODS_MS.find((leastMs) => taken(leastMs) <= most);
  const stop = "set on_exhaust: stop";
  return periodMs === undefined ? stop : `poll every ${formatDuration(periodMs)}, or ${stop}`;
}
