import type { Config } from "../../kernel/config/config.ts";
import { type Counts, counterOf, Tally } from "../../kernel/metrics/counts.ts";
import { type Add, counter, gauge, type Metrics, one, seconds } from "../../kernel/metrics/family.ts";
import type { BudgetSnapshot, Running } from "../../kernel/metrics/snapshot.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import type { BudgetProof, QuotaProof } from "../../proof/numbers.ts";
import { UNITS_OF_MONEY } from "../../platform/money.ts";
import type { Burn } from "../history/credit.ts";
import { COST } from "./cost.ts";
import { quotasKnown } from "./tracked.ts";
import type { QuotaKey } from "./quota.ts";
import { quotaBurns, type QuotaForecast, type QuotaName } from "./quota-forecast.ts";
import type { Quotas } from "./quotas.ts";
import { type QuotaSnapshot, quotaStanding } from "./standing.ts";

declare module "../../kernel/metrics/snapshot.ts" {
  interface Running {
    readonly quotas?: Quotas | undefined;
    readonly proof?: { readonly budgets: readonly BudgetProof[] } | undefined;
  }
  interface BudgetSnapshot {
    readonly quota?: QuotaSnapshot | undefined;
    readonly spend?: QuotaSnapshot | undefined;
    /** When they are used up: our own, and those that answers tell. */
    readonly quotas?: readonly QuotaForecast[] | undefined;
  }
}

/** Billionths, by currency. */
class Spent extends Tally<string> implements Counts {
  judged({ sentAtMs, said }: Poll): void {
    const cost = COST.of(said);
    if (cost !== undefined && cost.units > 0) this.add(cost.currency, cost.units, sentAtMs);
  }
}

const COUNTER = counterOf("spent", ({ price }) => price && new Spent());

export const QUOTA_METRICS: Metrics = {
  counter: COUNTER,
  ofBudget: quotasOf,
  upstream: {
    pacewatch_spend_total: counter(
      "What its polls cost, by its price; of a poll whose answer does not tell, the most that it may cost. Absent without a price.",
      ({ accounts, upstream: { price } }, add) =>
        COUNTER.of(accounts.counts)
          ?.with(price === undefined ? [] : [price.currency], accounts.startedAtMs)
          .forEach((spent) => add(spent.count / UNITS_OF_MONEY, { currency: spent.word }, spent)),
    ),
  },
  budget: {
    pacewatch_budget_quota_limit_requests: gauge(
      "Requests that Pacewatch's own long quota allows; absent without one.",
      one(({ quota }) => quota?.limit),
    ),
    pacewatch_budget_quota_used_requests: gauge(
      "Requests of the long quota that are spent.",
      one(({ quota }) => quota?.used),
    ),
    pacewatch_budget_quota_unconfirmed_requests: gauge(
      "Those of the used ones that were in flight when Pacewatch was killed: they may have been sent, or not.",
      one(({ quota }) => quota?.unconfirmed),
    ),
    pacewatch_budget_quota_forecast_requests: gauge(
      "Requests that the schedule would spend within the quota's period.",
      one(({ quota }) => quota?.forecast),
    ),
    pacewatch_budget_quota_burn_per_second: gauge(
      "The part of a quota that was spent per second over the window: our own of requests or of money, or one of a day, a week or a month and more that answers tell; absent until half of the window is known.",
      eachQuota(({ perSecond }) => perSecond),
    ),
    pacewatch_budget_quota_empty_timestamp_seconds: gauge(
      "When a quota is used up at the pace of the window; absent if it refills before.",
      eachQuota(({ emptyAtMs }) => seconds(emptyAtMs)),
    ),
    pacewatch_budget_spend_limit: gauge(
      "Money that Pacewatch may spend in the period of the budget's spend; absent without one, as are the others of it.",
      ofSpend(({ limit }) => limit),
    ),
    pacewatch_budget_spend_used: gauge(
      "Money that counts as spent, and the most that polls in flight may cost.",
      ofSpend(({ used }) => used),
    ),
    pacewatch_budget_spend_forecast: gauge(
      "Money that the schedule would spend at most within the period.",
      ofSpend(({ forecast }) => forecast),
    ),
  },
};

function ofSpend(read: (spend: QuotaSnapshot) => number): (budget: BudgetSnapshot, add: Add) => void {
  return ({ spend }, add) => {
    if (spend?.currency !== undefined) add(read(spend), { currency: spend.currency });
  };
}

function eachQuota(read: (burn: Burn) => number | undefined): (budget: BudgetSnapshot, add: Add) => void {
  return ({ quotas = [] }, add) => {
    for (const { quota, burns } of quotas) {
      for (const burn of burns) add(read(burn), { quota, window: burn.window });
    }
  };
}

type QuotasOf = Pick<BudgetSnapshot, "quota" | "spend" | "quotas">;

function quotasOf({ config, quotas, proof, recordOf, nowMs }: Running): (budget: BudgetSnapshot) => QuotasOf {
  const proofs = new Map(proof?.budgets.map((each) => [each.budget, each]));
  // All upstreams are asked for theirs, and many pages show no budget.
  let advertised: ReturnType<typeof advertisedQuotas> | undefined;
  const own = (budget: string, of: QuotaKey["of"], proof: QuotaProof | undefined): OwnQuota | undefined =>
    quotas && proof && ownQuotaOf(quotas, { budget, of }, proof, nowMs);
  return ({ name }) => {
    advertised ??= advertisedQuotas(config, recordOf, nowMs);
    const quota = own(name, "requests", proofs.get(name)?.quota);
    const spend = own(name, "money", proofs.get(name)?.spend);
    const forecasts: readonly QuotaForecast[] = [
      ...(quota === undefined ? [] : [{ quota: "own" as const, burns: quota.burns }]),
      ...(spend === undefined ? [] : [{ quota: "spend" as const, burns: spend.burns }]),
      ...(advertised.get(name)?.values() ?? []),
    ];
    return { quota: quota?.standing, spend: spend?.standing, quotas: forecasts };
  };
}

type OwnQuota = { readonly standing: QuotaSnapshot | undefined; readonly burns: readonly Burn[] };

function ownQuotaOf(quotas: Quotas, quota: QuotaKey, proof: QuotaProof, nowMs: number): OwnQuota {
  const unit = proof.currency === undefined ? 1 : UNITS_OF_MONEY;
  const { used = 0, buckets = new Map<number, number>() } = quotas.of(quota.budget, quota.of) ?? {};
  const aheadMs = nowMs - quotas.calendar.now();
  // It ends where one more request of the dearest has no room.
  const most = Math.max(1, proof.quota.most - Math.max(0, proof.dearest - 1));
  const burns = quotaBurns({ ...proof.quota, most }, { used, buckets }, nowMs - aheadMs);
  const standing = quotaStanding(quotas, quota, proof, nowMs);
  return {
    standing: standing && { ...standing, forecast: proof.scheduled / unit },
    burns: burns.map((burn) => ({ ...burn, emptyAtMs: burn.emptyAtMs && burn.emptyAtMs + aheadMs })),
  };
}

type ByQuota = Map<QuotaName, QuotaForecast & { readonly seenAtMs?: number }>;

/** By budget: what the newest answer to any of its upstreams tells. */
function advertisedQuotas(
  { upstreams }: Config,
  recordOf: Running["recordOf"],
  nowMs: number,
): ReadonlyMap<string, ByQuota> {
  const byBudget = new Map<string, ByQuota>();
  for (const { name, budgets, schedule } of upstreams) {
    const tracks = recordOf?.(name)?.history.tracks;
    for (const kept of tracks === undefined ? [] : quotasKnown(tracks, schedule.longestGapMs, nowMs)) {
      for (const budget of budgets) {
        const known: ByQuota = byBudget.get(budget) ?? new Map();
        byBudget.set(budget, known);
        if (kept.seenAtMs > (known.get(kept.quota)?.seenAtMs ?? 0)) known.set(kept.quota, kept);
      }
    }
  }
  return byBudget;
}
