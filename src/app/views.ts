import type { AppFleet } from "../features/fleet/fleet.ts";
import type { AppPolling } from "./polling.ts";
import type { AppReload } from "./reload.ts";
import { type QuotaForecast, type QuotaName, worstBurn } from "../features/values/credit.ts";
import { WHY } from "../features/hints/concern.ts";
import type { RunningLedger } from "../kernel/budget/ledger.ts";
import { quotaBurns } from "../features/quota/quota-forecast.ts";
import type { QuotaKey } from "../features/quota/quota.ts";
import type { Budget, Config } from "../kernel/config/config.ts";
import { UNITS_OF_MONEY } from "../features/money/price.ts";
import { factsOf, type Polled, summaryOf } from "../features/status/facts.ts";
import type { StateStore } from "../features/history/state.ts";
import type {
  BudgetSnapshot,
  MetricsSnapshot,
  QuotaSnapshot,
  UpstreamSnapshot,
} from "../kernel/metrics/snapshot.ts";
import type { QuotaProof } from "../proof/numbers.ts";
import { stalledAtMs } from "../proof/proof.ts";
import { quotaSentence } from "../features/status/credit-sentence.ts";
import { limitStatusOf } from "../features/status/limit-sentence.ts";
import { quotaStanding } from "../features/status/quota-status.ts";
import type { BudgetStatus, Status } from "../features/status/status.ts";
import { type Columns, type Range, spanOf } from "../features/history/timeline.ts";
import type { Clock } from "../kernel/time/clock.ts";
import type { Notifier } from "../features/notify/notifier.ts";
import { DAY_MS } from "../kernel/time/duration.ts";
import { VERSION } from "../version.ts";

/** What the views are made of: all of it for each scrape, and for a page what it shows. */
export type ViewSources = {
  readonly clock: Clock;
  readonly startedAtMs: () => number;
  /** Undefined while another process leads. */
  life(): Life | undefined;
  /** Undefined without one. */
  fleet?(): Pick<AppFleet, "snapshot" | "status"> | undefined;
  readonly reload: Pick<AppReload, "config" | "proof" | "status">;
  isReady(): boolean;
};

/** What polls, and all that follows from its polls. */
type Life = {
  readonly ledger: RunningLedger;
  readonly store: StateStore | undefined;
  readonly polling: ShownPolling;
  readonly notifier: Pick<Notifier, "snapshots">;
};

type ShownPolling = Pick<
  AppPolling,
  "recordOf" | "healthOf" | "owedSinceMs" | "conditionOf" | "offlineUpstreams"
>;

/** Each upstream and each budget is read when its turn comes: what left the config by then is left out. */
export function metricsView(sources: ViewSources): MetricsSnapshot {
  const { reload, clock } = sources;
  const { config } = reload;
  const life = sources.life();
  const viewOf = life && budgetViews(config, sources, life, clock.wallNow());
  return {
    upstreams: life === undefined ? [] : upstreamViews(config, sources, life.polling),
    budgets:
      viewOf === undefined
        ? []
        : Iterator.from(config.budgets)
            .map(viewOf)
            .filter((view) => view !== undefined),
    stateStoreUp: life?.store?.isUp,
    stateLostAtMs: lostAtMs(life?.store, clock),
    offlineUpstreams: life?.polling.offlineUpstreams(clock.wallNow()),
    vantage: config.vantage?.name,
    fleet: sources.fleet?.()?.snapshot,
    receivers: life?.notifier.snapshots ?? [],
    reload: reload.status,
    build: { version: VERSION, node: process.versions.node },
    startedAtMs: sources.startedAtMs(),
  };
}

/** What a day ago was lost is no news. */
export function lostAtMs(store: StateStore | undefined, clock: Clock): number | undefined {
  const atMs = store?.lostAtMs;
  return atMs !== undefined && Math.abs(clock.wallNow() - atMs) < DAY_MS ? atMs : undefined;
}

function* upstreamViews(
  config: Config,
  { clock, reload }: ViewSources,
  polling: ShownPolling,
): Generator<UpstreamSnapshot> {
  const { latenessMs } = reload.proof;
  for (const upstream of config.upstreams) {
    const record = polling.recordOf(upstream.name);
    if (record === undefined) continue;
    const { values, schedule } = upstream;
    const nowMs = clock.wallNow();
    const owedSinceMs = polling.owedSinceMs(upstream.name) ?? nowMs;
    yield {
      upstream,
      accounts: record.accounts,
      health: polling.healthOf(upstream.name),
      nowMs,
      stalledAtMs: stalledAtMs(schedule, owedSinceMs, latenessMs.get(upstream.name) ?? Infinity),
      ...(values && { values: record.history.values.read(values, schedule.longestGapMs, nowMs) }),
    };
  }
}

export function statusView(sources: ViewSources): Status {
  const { reload, clock } = sources;
  const { config } = reload;
  const life = sources.life();
  const fleet = sources.fleet?.()?.status;
  const { polling, store } = life ?? {};
  const nowMs = clock.wallNow();
  const upstreams = new Map(config.upstreams.map((upstream) => [upstream.name, upstream]));
  const polled = (name: string): Polled | undefined => {
    const [upstream, record] = [upstreams.get(name), polling?.recordOf(name)];
    return polling && upstream && record && { upstream, record, condition: polling.conditionOf(upstream) };
  };
  const budgets = new Map(config.budgets.map((budget) => [budget.name, budget]));
  const viewOf = life && budgetViews(config, sources, life, nowMs);
  const shown = new Map<string, BudgetStatus | undefined>();
  const shownBudget = (budget: Budget | undefined): BudgetStatus | undefined => {
    const view = budget && viewOf?.(budget);
    return view && budgetStatusOf(budget, view, nowMs);
  };
  return {
    version: VERSION,
    startedAtMs: sources.startedAtMs(),
    nowMs,
    ready: sources.isReady() && (life !== undefined || fleet?.isLeading === false),
    ...(config.vantage && { vantage: config.vantage }),
    fleet,
    offline: (polling?.offlineUpstreams(nowMs) ?? 0) > 0,
    stateStoreUp: store?.isUp,
    stateLostAtMs: lostAtMs(store, clock),
    lastReload: reload.status,
    upstreams: {
      *[Symbol.iterator]() {
        for (const name of upstreams.keys()) {
          const found = polled(name);
          if (found !== undefined) yield summaryOf(found, nowMs);
        }
      },
    },
    facts: (name) => {
      const found = polled(name);
      return found && factsOf(found, nowMs);
    },
    columns: (name, range) =>
      polling?.recordOf(name)?.history.columns(range, nowMs) ?? {
        columnMs: range.columnMs,
        columns: [],
        areQuantiles: false,
      },
    incidentsOf: (name) => polling?.recordOf(name)?.history.incidents ?? [],
    valueHistory: (name, value) => {
      const points = polling?.recordOf(name)?.history.values.points(value) ?? [];
      return points.map(({ atMs, value: of }) => ({ atMs, value: of }));
    },
    budgets: [...budgets.keys()],
    budget: (name) => {
      // Thousands of upstreams may ask for the same one.
      if (!shown.has(name)) shown.set(name, shownBudget(budgets.get(name)));
      return shown.get(name);
    },
  };
}

type ColumnSources = Pick<ViewSources, "clock"> & {
  life():
    | {
        readonly store: Pick<StateStore, "columns"> | undefined;
        readonly polling: Pick<ShownPolling, "recordOf">;
      }
    | undefined;
};

/** Of a range longer than a day, the hours in memory tell as much, unless it is longer than they are kept. */
export async function columnsInFile(
  sources: ColumnSources,
  upstream: string,
  range: Range,
): Promise<Columns | undefined> {
  const { polling, store } = sources.life() ?? {};
  if ((range.lengthMs > DAY_MS && range.columnMs < DAY_MS) || polling?.recordOf(upstream) === undefined)
    return undefined;
  return store?.columns({ upstream, ...spanOf(range, sources.clock.wallNow()), columnMs: range.columnMs });
}

/** How each budget stands now, for the metrics and for the page. Undefined for one that the ledger does not know yet. */
function budgetViews(
  config: Config,
  { clock, reload }: ViewSources,
  { ledger, polling }: Life,
  nowMs: number,
): (budget: Budget) => BudgetSnapshot | undefined {
  const proofs = new Map(reload.proof.budgets.map((proof) => [proof.budget, proof]));
  const ownQuota = (quota: QuotaKey, proof: QuotaProof): OwnQuota => ownQuotaOf(ledger, quota, proof, nowMs);
  // All upstreams are asked for theirs, and many pages show no budget.
  let advertised: ReturnType<typeof advertisedQuotas> | undefined;
  return ({ name }) => {
    const state = ledger.state(name);
    if (state === undefined) return undefined;
    advertised ??= advertisedQuotas(config, polling, nowMs);
    const pauseMs = state.pausedUntilMs - clock.now();
    const proof = proofs.get(name);
    const quota = proof?.quota && ownQuota({ budget: name, of: "requests" }, proof.quota);
    const spend = proof?.spend && ownQuota({ budget: name, of: "money" }, proof.spend);
    const quotas: readonly QuotaForecast[] = [
      ...(quota === undefined ? [] : [{ quota: "own" as const, burns: quota.burns }]),
      ...(spend === undefined ? [] : [{ quota: "spend" as const, burns: spend.burns }]),
      ...(advertised.get(name)?.values() ?? []),
    ];
    return {
      name,
      rates: state.rates,
      advertisedLimit: state.advertisedLimit,
      advertisedRemaining: state.advertisedRemaining,
      advertisedLimits: state.advertisedLimits,
      pausedUntilWallMs: pauseMs > 0 ? nowMs + pauseMs : 0,
      refusedWhy: state.refusedWhy,
      quota: quota?.standing,
      spend: spend?.standing,
      quotas,
    };
  };
}

type OwnQuota = { readonly standing: QuotaSnapshot | undefined; readonly burns: QuotaForecast["burns"] };

function ownQuotaOf(ledger: RunningLedger, quota: QuotaKey, proof: QuotaProof, nowMs: number): OwnQuota {
  const { quotas } = ledger;
  const unit = proof.currency === undefined ? 1 : UNITS_OF_MONEY;
  const { used = 0, buckets } = quotas.of(quota.budget, quota.of);
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
  polling: ShownPolling,
  nowMs: number,
): ReadonlyMap<string, ByQuota> {
  const byBudget = new Map<string, ByQuota>();
  for (const { name, budgets, schedule } of upstreams) {
    for (const kept of polling.recordOf(name)?.history.values.quotas(schedule.longestGapMs, nowMs) ?? []) {
      for (const budget of budgets) {
        const known: ByQuota = byBudget.get(budget) ?? new Map();
        byBudget.set(budget, known);
        if (kept.seenAtMs > (known.get(kept.quota)?.seenAtMs ?? 0)) known.set(kept.quota, kept);
      }
    }
  }
  return byBudget;
}

function budgetStatusOf(budget: Budget, view: BudgetSnapshot, nowMs: number): BudgetStatus {
  const { advertisedLimit: limit, advertisedRemaining: remaining, quota, spend } = view;
  const ours: Partial<Record<QuotaName, QuotaSnapshot | undefined>> = { own: quota, spend };
  return {
    name: budget.name,
    share: budget.share,
    ...(budget.vantage && { vantage: budget.vantage }),
    rates: view.rates,
    advertised: limit === undefined && remaining === undefined ? undefined : { limit, remaining },
    limits: view.advertisedLimits.map(limitStatusOf),
    pausedUntilMs: view.pausedUntilWallMs,
    ...(view.pausedUntilWallMs > 0 && view.refusedWhy && { pausedBecause: WHY[view.refusedWhy] }),
    quota,
    ...(spend && { spend }),
    ...(view.quotas.length > 0 && {
      quotas: view.quotas.map(({ quota: name, burns }) => ({
        quota: name,
        sentence: quotaSentence(burns, nowMs, ours[name]),
        emptyAtMs: worstBurn(burns)?.emptyAtMs,
        burns,
      })),
    }),
  };
}
