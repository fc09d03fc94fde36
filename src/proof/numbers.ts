import type { Budget, Rate, Upstream, Vantage } from "../kernel/config/config.ts";
import { capOf, type Shares } from "../kernel/config/part.ts";
import type { ProofPart, Quota, QuotaPart } from "./part.ts";
import { type ColdStart, coldStartOfBudget } from "../kernel/budget/cold-start.ts";
import { type LeaseRate, leaseRatesOf, paceGapMs } from "../kernel/budget/leases.ts";
import { slotsOf } from "../kernel/schedule/schedule.ts";
import { type Ask, allServedInTime, asksOf, longestBusyMs, paceOf, requestsWithin } from "./pace.ts";

/** One upstream may send so much under one rate: its slots, each with all of its confirmations. */
export type Demand = {
  readonly upstream: string;
  readonly schedule: string;
  readonly confirm: number;
  readonly slots: number;
  readonly requests: number;
};

export type RateProof = {
  readonly rate: Rate;
  /** ⌊limit · share⌋, the most that may be used; of a vantage, of its part of the limit. */
  readonly cap: number;
  /** The most that may be asked for in one window. */
  readonly demand: number;
  /** Below 0 where only slots that come at once ask for more: then they take turns. */
  readonly headroom: number;
  readonly upstreams: readonly Demand[];
};

/** In units of the quota. */
export type QuotaProof = {
  readonly quota: Quota;
  /** The most that the schedules take in one period, without confirmations. */
  readonly scheduled: number;
  /** The most that one request takes. */
  readonly dearest: number;
  readonly spentEarly: boolean;
  /** Absent where it counts requests. */
  readonly currency?: string;
};

/** How slots that come at once take turns, one pace gap apart. */
export type TurnsProof = {
  /** Every slot and its confirmations are sent before the next slot of its upstream. */
  readonly inTime: boolean;
  /** Undefined if the pace is too slow. */
  readonly longestWaitMs: number | undefined;
  /** The shortest time between two slots of one upstream. */
  readonly shortestGapMs: number;
};

export interface BudgetProof {
  readonly budget: string;
  readonly share: number;
  /** Absent where nobody else watches. */
  readonly vantage?: Vantage | undefined;
  /** Every rate allows a request, and every window has room for its demand, or else all take their turns in time. */
  readonly fits: boolean;
  readonly rates: readonly RateProof[];
  /** Undefined where every window has room for its demand, or a rate allows no request. */
  readonly turns: TurnsProof | undefined;
  /** The least distance between two requests. */
  readonly paceGapMs: number;
  /** How long a new process, or the next leader, waits before its first request. */
  readonly coldStart: Pick<ColdStart, "rule" | "waitMs">;
  /** The schedules alone send so many in 30 days, on average. */
  readonly requestsPer30d: number;
}

/** A budget and all who send on it. */
export type BudgetUse = {
  readonly budget: Budget;
  readonly upstreams: readonly Upstream[];
};

export function proveBudget(use: BudgetUse): BudgetProof {
  const { budget, upstreams } = use;
  const longestTimeoutMs = Math.max(0, ...upstreams.map(({ timeoutMs }) => timeoutMs));
  const { rule, waitMs } = coldStartOfBudget(budget, longestTimeoutMs + budget.lingerMs);
  const rates = budget.rates.map((rate) => proveRate(rate, use));
  const turns = proveTurns(use);
  // As if each allowed a request, so that what is printed of a budget that does not fit has numbers.
  const paced = rates.map(({ rate, cap }) => ({ perMs: rate.perMs, cap: Math.max(1, cap) }));
  return {
    budget: budget.name,
    share: budget.share,
    ...(budget.vantage && { vantage: budget.vantage }),
    fits: rates.every(({ cap }) => cap >= 1) && turns?.inTime !== false,
    rates,
    turns,
    paceGapMs: paceGapMs(paced),
    coldStart: { rule, waitMs },
    requestsPer30d: upstreams.reduce((sum, { schedule }) => sum + slotsOf(schedule).slotsPerDay * 30, 0),
  };
}

type Rates = Shares & Pick<Budget, "rates">;

/** Room in every window for all that may be asked for in it, or a pace that serves it in time. */
export function fitsRates(budget: Rates, asks: readonly Ask[]): boolean {
  const rates = leaseRatesOf(budget);
  if (rates.some(({ cap }) => cap < 1)) return false;
  return haveRoom(rates, asks) || allServedInTime(asks, paceOf(rates));
}

function haveRoom(rates: readonly LeaseRate[], asks: readonly Ask[]): boolean {
  return rates.every(({ perMs, cap }) => requestsWithin(asks, perMs) <= cap);
}

function proveTurns({ budget, upstreams }: BudgetUse): TurnsProof | undefined {
  const rates = leaseRatesOf(budget);
  const asks = asksOf(upstreams);
  if (rates.some(({ cap }) => cap < 1) || haveRoom(rates, asks)) return undefined;
  const pace = paceOf(rates);
  const busyMs = longestBusyMs(asks, pace);
  return {
    inTime: allServedInTime(asks, pace),
    longestWaitMs: busyMs === Infinity ? undefined : busyMs - pace.gapMs,
    shortestGapMs: Math.min(...asks.map(({ gapMs }) => gapMs)),
  };
}

function proveRate(rate: Rate, { budget, upstreams }: BudgetUse): RateProof {
  const cap = capOf(rate.requests, budget);
  const demands = upstreams.map(({ name, schedule, confirm }) => {
    const slots = slotsOf(schedule).mostWithin(rate.perMs);
    return { upstream: name, schedule: schedule.source, confirm, slots, requests: slots * (1 + confirm) };
  });
  const demand = demands.reduce((sum, { requests }) => sum + requests, 0);
  return { rate, cap, demand, headroom: cap - demand, upstreams: demands };
}

/** A quota with what it is counted in. */
export type ProvenQuota = { readonly part: QuotaPart; readonly unit: string; readonly proof: QuotaProof };

/** Those that the budget has. */
export function provenQuotas(
  { budget, upstreams }: BudgetUse,
  parts: readonly ProofPart[],
): readonly ProvenQuota[] {
  return parts.flatMap(({ quota: part }) => {
    const quota = part?.of(budget);
    const unit = part?.unit(upstreams);
    if (part === undefined || quota === undefined || unit === undefined) return [];
    const scheduled = upstreams.reduce(
      (sum, upstream) => sum + slotsOf(upstream.schedule).mostWithin(quota.perMs) * part.unitsOf(upstream),
      0,
    );
    const dearest = Math.max(0, ...upstreams.map(part.unitsOf));
    const isMoney = part.kind === "spend";
    const proof = {
      quota,
      scheduled,
      dearest,
      spentEarly: scheduled > quota.most,
      ...(isMoney && { currency: unit }),
    };
    return [{ part, unit, proof }];
  });
}
