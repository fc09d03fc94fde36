import { type Budget, type Fleet, type Quota, type Rate, type Upstream, capOf } from "../config/config.ts";
import { reservedOf, sharedOf, sharedTermsOf, vantagesOf } from "../fleet/shares.ts";
import { gapsKeepTheLimit } from "../budget/leases.ts";
import { mostSlotsWithin, slotsPerDay } from "../schedule/schedule.ts";

/** What one upstream may send under one rate: its slots, each with all of its confirmations. */
export type Demand = {
  readonly upstream: string;
  readonly schedule: string;
  readonly confirm: number;
  readonly slots: number;
  readonly requests: number;
};

export type RateProof = {
  readonly rate: Rate;
  /** ⌊limit · share⌋, the most that may be used; in a fleet, minus the replicas' reserves. */
  readonly cap: number;
  /** Each replica's own part in a fleet, used while Redis is unreachable. */
  readonly reserve?: number;
  readonly demand: number;
  readonly headroom: number;
  readonly upstreams: readonly Demand[];
};

/** How long a new process waits before its first request. */
export type ColdStart = {
  readonly rule: "pace_gap" | "whole_window" | "shared";
  readonly waitMs: number;
};

export type QuotaProof = {
  readonly quota: Quota;
  /** The most that the schedules send in one period, without confirmations. */
  readonly scheduled: number;
  readonly spentEarly: boolean;
};

export type BudgetProof = {
  readonly budget: string;
  readonly share: number;
  readonly rates: readonly RateProof[];
  /** The least distance between two requests. */
  readonly paceGapMs: number;
  readonly coldStart: ColdStart;
  readonly quota: QuotaProof | undefined;
  /** What the schedules alone send in 30 days, on average. */
  readonly requestsPer30d: number;
  readonly costPer30d: number | undefined;
};

/** One gap, if requests that are a gap apart stay under the limit over any number of restarts. */
export function coldStartOf(budget: Budget, longestTimeoutMs: number): ColdStart {
  const tailMs = longestTimeoutMs + budget.lingerMs;
  const gapIsEnough = budget.rates.every((rate) =>
    gapsKeepTheLimit({ perMs: rate.perMs, cap: capOf(rate, budget.share) }, rate.requests, tailMs),
  );
  if (gapIsEnough) return { rule: "pace_gap", waitMs: paceGapOf(budget, undefined) };
  return { rule: "whole_window", waitMs: Math.max(...budget.rates.map((rate) => rate.perMs)) + tailMs };
}

function paceGapOf(budget: Budget, fleet: Fleet | undefined): number {
  return Math.max(...budget.rates.map((rate) => rate.perMs / Math.max(1, usableCap(rate, budget, fleet))));
}

function usableCap(rate: Rate, { share }: Budget, fleet: Fleet | undefined): number {
  const cap = capOf(rate, share);
  return fleet === undefined ? cap : sharedOf(cap, fleet);
}

export function proveBudget(
  budget: Budget,
  upstreams: readonly Upstream[],
  fleet: Fleet | undefined,
): BudgetProof {
  const vantages = vantagesOf(fleet);
  const requestsPer30d = upstreams.reduce(
    (sum, { schedule }) => sum + slotsPerDay(schedule) * 30 * vantages,
    0,
  );
  const price = budget.quota?.pricePerRequest;
  return {
    budget: budget.name,
    share: budget.share,
    rates: budget.rates.map((rate) => proveRate(rate, budget, upstreams, fleet)),
    paceGapMs: paceGapOf(budget, fleet),
    coldStart:
      fleet === undefined
        ? coldStartOf(budget, longestTimeoutOf(upstreams))
        : sharedColdStartOf(budget, longestTimeoutOf(upstreams), fleet),
    quota: budget.quota === undefined ? undefined : proveQuota(budget.quota, upstreams, vantages),
    requestsPer30d,
    costPer30d: price === undefined ? undefined : requestsPer30d * price,
  };
}

/** After Redis lost its data; otherwise nobody waits. */
function sharedColdStartOf(budget: Budget, longestTimeoutMs: number, fleet: Fleet): ColdStart {
  const { rates, holdMs } = sharedTermsOf(budget, fleet, longestTimeoutMs);
  return { rule: "shared", waitMs: Math.max(...rates.map((rate) => rate.perMs)) + holdMs };
}

function proveRate(
  rate: Rate,
  budget: Budget,
  upstreams: readonly Upstream[],
  fleet: Fleet | undefined,
): RateProof {
  const cap = usableCap(rate, budget, fleet);
  const demands = upstreams.map(({ name, schedule, confirm }) => {
    const slots = mostSlotsWithin(schedule, rate.perMs) * vantagesOf(fleet);
    return { upstream: name, schedule: schedule.source, confirm, slots, requests: slots * (1 + confirm) };
  });
  const demand = demands.reduce((sum, { requests }) => sum + requests, 0);
  const reserve = fleet === undefined ? {} : { reserve: reservedOf(capOf(rate, budget.share), fleet) };
  return { rate, cap, ...reserve, demand, headroom: cap - demand, upstreams: demands };
}

function proveQuota(quota: Quota, upstreams: readonly Upstream[], vantages: number): QuotaProof {
  const scheduled = upstreams.reduce(
    (sum, { schedule }) => sum + mostSlotsWithin(schedule, quota.perMs) * vantages,
    0,
  );
  return { quota, scheduled, spentEarly: scheduled > quota.requests };
}

function longestTimeoutOf(upstreams: readonly Upstream[]): number {
  return Math.max(0, ...upstreams.map((upstream) => upstream.timeoutMs));
}
