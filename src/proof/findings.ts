import { leasesOfSlowPolls } from "../kernel/budget/needs.ts";
import type { Budget, Upstream } from "../kernel/config/config.ts";
import { listing } from "../kernel/text/listing.ts";
import { formatPercentage } from "../kernel/text/percent.ts";
import { formatDuration, HOUR_MS, MINUTE_MS, SECOND_MS } from "../kernel/time/duration.ts";
import { leaseRatesOf } from "../kernel/budget/leases.ts";
import { type BudgetProof, type BudgetUse, type ProvenQuota, type RateProof, fitsRates } from "./numbers.ts";
import { allServedInTime, asksOf, paceOf, requestsWithin } from "./pace.ts";
import type { Finding, Subject } from "./part.ts";

export function faultsOf(
  proof: BudgetProof,
  quotas: readonly ProvenQuota[],
  use: BudgetUse,
): readonly Finding[] {
  const { budget } = use;
  const faults: Finding[] = [];
  const broken = proof.fits
    ? []
    : [...proof.rates.entries()].filter(([, { cap, headroom }]) => cap < 1 || headroom < 0);
  const suggestion = broken.length === 0 ? "" : suggestionForRates(use);
  for (const [index, rate] of broken) {
    const subject: Subject = { kind: "rate", budget: budget.name, index };
    const sentence = rate.cap < 1 ? nothingAllowed : tooMuch;
    faults.push({ subject, message: sentence(rate, budget, suggestion) });
  }
  for (const early of quotas) {
    const { part, proof: of } = early;
    if (!of.spentEarly) continue;
    const subject: Subject = { kind: part.kind, budget: budget.name };
    if (of.quota.most < of.dearest) {
      const poll = part.kind === "quota" ? "a poll" : `a poll of up to ${unitsOf(of.dearest, early)}`;
      const message = `budget "${budget.name}" has no room for ${poll}: ${mostOf(early, budget)}`;
      faults.push({ subject, message });
    } else if (of.quota.onExhaust === "refuse") {
      const message = `budget "${budget.name}" would use up its ${part.kind} early: ${askedOf(early, budget)}: ${suggestionForQuota(early, use)}`;
      faults.push({ subject, message });
    }
  }
  return faults;
}

function nothingAllowed({ rate }: RateProof, budget: Budget, suggestion: string): string {
  return `budget "${budget.name}" allows nothing: ${shareOf(`${rate.requests} in ${rate.label}`, budget, ",")} is less than one request: ${suggestion}`;
}

function tooMuch({ rate, cap, demand, upstreams }: RateProof, budget: Budget, suggestion: string): string {
  const parts = upstreams.map(
    ({ upstream, slots, confirm }) => `${upstream}: ${slots} × (1 + ${confirm} to confirm)`,
  );
  return `budget "${budget.name}" does not fit: its upstreams may ask for ${demand} requests in ${rate.label} (${listing(parts)}), its cap is ${cap} (${shareOf(`${rate.requests}`, budget)}): ${suggestion}`;
}

function shareOf(limit: string, { share, vantage }: Budget, comma = ""): string {
  const whole = `${formatPercentage(share)} of ${limit}`;
  return vantage === undefined ? whole : `${whole}, divided by ${vantage.of} vantages${comma}`;
}

function askedOf(early: ProvenQuota, budget: Budget): string {
  const { scheduled, quota } = early.proof;
  const asked = unitsOf(scheduled, early);
  return `its schedules ask for ${asked} in ${formatDuration(quota.perMs)}, ${mostOf(early, budget)}`;
}

function mostOf({ part, proof }: ProvenQuota, { vantage }: Budget): string {
  const share = vantage === undefined ? "" : `, one of ${vantage.of} equal parts`;
  return `the ${part.kind} is ${part.format(proof.quota.most)}${share}`;
}

function unitsOf(units: number, { part, unit }: ProvenQuota): string {
  return `${part.format(units)} ${unit}`;
}

export function warningsOf(
  proof: BudgetProof,
  quotas: readonly ProvenQuota[],
  use: BudgetUse,
): readonly Finding[] {
  const { budget, upstreams } = use;
  const subject: Subject = { kind: "budget", budget: budget.name };
  if (upstreams.length === 0) return [{ subject, message: `budget "${budget.name}" has no upstream` }];
  const warnings: Finding[] = [];
  for (const early of quotas) {
    if (!early.proof.spentEarly || early.proof.quota.onExhaust !== "stop") continue;
    const message = `budget "${budget.name}" will stop before its period ends: ${askedOf(early, budget)}`;
    warnings.push({ subject: { kind: early.part.kind, budget: budget.name }, message });
  }
  warnings.push(...tightness(proof, use));
  return warnings;
}

/** A lease is held for its poll and then a window. So slots that fill the cap exactly, or the pace, fall behind. */
function tightness(proof: BudgetProof, { budget, upstreams }: BudgetUse): readonly Finding[] {
  if (!proof.fits) return [];
  const asks = asksOf(upstreams);
  const pollMs = Math.max(...upstreams.map(({ timeoutMs }) => timeoutMs)) + budget.lingerMs;
  const slowPace = paceOf(leaseRatesOf(budget), pollMs);
  const isSlowInTime = allServedInTime(asks, slowPace);
  const warnings: Finding[] = [];
  for (const [index, { rate, cap, headroom }] of proof.rates.entries()) {
    const held = leasesOfSlowPolls(upstreams, rate.perMs, budget.lingerMs);
    if (held <= cap || (headroom < 0 && isSlowInTime)) continue;
    const message = `budget "${budget.name}" is tight: slow polls may hold ${held} leases for ${rate.label} at once, its cap is ${cap}, so some slots will be late or skipped`;
    warnings.push({ subject: { kind: "rate", budget: budget.name, index }, message });
  }
  return warnings;
}

export function crowdedWarning({ budget, paceGapMs }: BudgetProof): Finding {
  const message = `budget "${budget}" is tight: some of its upstreams also draw on other budgets, and before each of their requests it may be idle for up to ${formatDuration(Math.ceil(paceGapMs))}, so some slots may be late or skipped; poll less often, or raise share`;
  return { subject: { kind: "budget", budget }, message };
}

/** `keys`: by the names of the upstreams. It is equal for two that use the same key. */
export function sharedKeys(
  upstreams: readonly Upstream[],
  keys: ReadonlyMap<string, string>,
): readonly Finding[] {
  const firstByKey = new Map<string, Upstream>();
  const warnings: Finding[] = [];
  for (const upstream of upstreams) {
    const key = keys.get(upstream.name);
    if (key === undefined) continue;
    const first = firstByKey.get(key);
    if (first === undefined) firstByKey.set(key, upstream);
    else if (!first.budgets.some((budget) => upstream.budgets.includes(budget))) {
      const [firstBudgets, budgets] = [first, upstream].map((each) => each.budgets.join('", "'));
      const message = `upstreams "${first.name}" and "${upstream.name}" use the same key but draw on the budgets "${firstBudgets}" and "${budgets}": what one key may send should be one budget`;
      warnings.push({ subject: { kind: "upstream", upstream: upstream.name, about: "budget" }, message });
    }
  }
  return warnings;
}

/** Those that people like to read in a proposal. */
export const ROUND_PERIODS_MS: readonly number[] = [
  ...[1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30].map((seconds) => seconds * SECOND_MS),
  ...[1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 4, 6, 8, 12, 24].map((hours) => hours * HOUR_MS),
];

/** A possible change, as numbers: no even schedule is faster than this period. Many are tried. */
type Plan = { readonly share: number; readonly leastPeriodMs: number; readonly mostConfirm: number };

/** The least change of each kind that alone would fit the rates, in words; else the least share with some period. */
function suggestionForRates({ budget, upstreams }: BudgetUse): string {
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
function suggestionForQuota({ part, proof }: ProvenQuota, { upstreams }: BudgetUse): string {
  const { most, perMs } = proof.quota;
  const alike = [...Map.groupBy(upstreams, part.unitsOf)];
  const taken = (leastMs: number): number =>
    alike.reduce((sum, [units, group]) => sum + units * requestsWithin(asksOf(group, leastMs, 0), perMs), 0);
  const periodMs = ROUND_PERIODS_MS.find((leastMs) => taken(leastMs) <= most);
  const stop = "set on_exhaust: stop";
  return periodMs === undefined ? stop : `poll every ${formatDuration(periodMs)}, or ${stop}`;
}
