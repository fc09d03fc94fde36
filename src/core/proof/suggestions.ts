import type { Budget, Fleet, Upstream } from "../config/config.ts";
import { mostOf } from "../config/price.ts";
import { formatDuration } from "../time/duration.ts";
import { LEGAL_PERIODS_MS } from "../schedule/schedule.ts";
import { fitsRates, type QuotaProof } from "./numbers.ts";
import { asksOf, requestsWithin } from "./pace.ts";

/** A possible change, as numbers. Many are tried. */
type Plan = {
  readonly share: number;
  /** No even schedule is faster than this. */
  readonly leastPeriodMs: number;
  readonly mostConfirm: number;
};

/** The least change of each kind that alone would fit the rates, in words. */
export function adviceForRates(
  budget: Budget,
  upstreams: readonly Upstream[],
  fleet: Fleet | undefined,
): string {
  const trial = new Trial(budget, upstreams, fleet);
  const ways = [trial.slower(), trial.moreShare(), trial.fewerConfirmations()].filter(
    (way) => way !== undefined,
  );
  return ways.length === 0 ? trial.bothChanges() : ways.join(", or ");
}

/** Names a change with which the quota would last. */
export function adviceForQuota(
  { quota: { most, perMs }, currency }: QuotaProof,
  upstreams: readonly Upstream[],
  vantages: number,
): string {
  const alike = [...Map.groupBy(upstreams, ({ price }) => (currency === undefined ? 1 : mostOf(price)))];
  const taken = (leastMs: number): number =>
    alike.reduce((sum, [units, group]) => sum + units * requestsWithin(asksOf(group, leastMs, 0), perMs), 0);
  const periodMs = LEGAL_PERIODS_MS.find((leastMs) => taken(leastMs) * vantages <= most);
  const stop = "set on_exhaust: stop";
  return periodMs === undefined ? stop : `poll every ${formatDuration(periodMs)}, or ${stop}`;
}

class Trial {
  readonly #budget: Budget;
  readonly #upstreams: readonly Upstream[];
  readonly #current: Plan;
  readonly #fleet: Fleet | undefined;

  constructor(budget: Budget, upstreams: readonly Upstream[], fleet: Fleet | undefined) {
    this.#budget = budget;
    this.#fleet = fleet;
    this.#upstreams = upstreams;
    const mostConfirm = Math.max(0, ...upstreams.map(({ confirm }) => confirm));
    this.#current = { share: budget.share, leastPeriodMs: 0, mostConfirm };
  }

  slower(share: number = this.#current.share): string | undefined {
    const periodMs = LEGAL_PERIODS_MS.find((leastPeriodMs) => this.#fits({ share, leastPeriodMs }));
    return periodMs === undefined ? undefined : `poll every ${formatDuration(periodMs)}`;
  }

  moreShare(): string | undefined {
    const percent = this.#higherPercents().find((percent) => this.#fits({ share: percent / 100 }));
    return percent === undefined ? undefined : `raise share to ${percent}%`;
  }

  fewerConfirmations(): string | undefined {
    for (let mostConfirm = this.#current.mostConfirm - 1; mostConfirm >= 0; mostConfirm -= 1) {
      if (this.#fits({ mostConfirm })) return `lower confirm to ${mostConfirm}`;
    }
    return undefined;
  }

  /** When no single change is enough: the least share with which some period fits. */
  bothChanges(): string {
    for (const percent of this.#higherPercents()) {
      const way = this.slower(percent / 100);
      if (way !== undefined) return `raise share to ${percent}% and ${way}`;
    }
    return "no share and no period fits: watch fewer upstreams, or lower confirm";
  }

  #higherPercents(): readonly number[] {
    const first = Math.floor(this.#budget.share * 100) + 1;
    return Array.from({ length: Math.max(0, 101 - first) }, (_, index) => first + index);
  }

  #fits(change: Partial<Plan>): boolean {
    const { share, leastPeriodMs, mostConfirm } = { ...this.#current, ...change };
    const asks = asksOf(this.#upstreams, leastPeriodMs, mostConfirm);
    return fitsRates(this.#budget.rates, share, asks, this.#fleet);
  }
}
