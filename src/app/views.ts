import type { Announcement } from "../core/answer/announcement.ts";
import type { AppFleet } from "./fleet.ts";
import type { AppPolling } from "./polling.ts";
import type { AppReload } from "./reload.ts";
import type { RunningLedger } from "../core/budget/ledger.ts";
import type { Clock } from "../core/time/clock.ts";
import type { Budget, Config, Upstream, Value } from "../core/config/config.ts";
import type { FleetView } from "../core/fleet/fleet-status.ts";
import { prove } from "../core/proof/proof.ts";
import { SKIP_CAUSES } from "../core/exchange/outcome.ts";
import type { UpstreamAccounts } from "../core/metrics/accounts.ts";
import { type QuotaForecast, type QuotaName, worstBurn } from "../core/answer/credit.ts";
import { quotaBurns } from "../core/budget/quota-forecast.ts";
import { creditSentence, quotaSentence } from "../core/status/credit-sentence.ts";
import { limitStatusOf } from "../core/status/limit-sentence.ts";
import type {
  BudgetSnapshot,
  MetricsSnapshot,
  UpstreamSnapshot,
  ValueSnapshot,
} from "../core/metrics/snapshot.ts";
import type { History } from "../core/history/history.ts";
import type { UpstreamRecord } from "../core/history/upstream-record.ts";
import type { StateStore } from "../core/history/state.ts";
import {
  type AvailabilityWindow,
  type BudgetStatus,
  type LatencyQuantiles,
  type PollStatus,
  type SkipCount,
  type SlotCounts,
  type StatusSnapshot,
  type UpstreamStatus,
  urlWithoutQuery,
  type ValueStatus,
} from "../core/status/status.ts";
import type { Condition } from "../engine/poll/supervisor.ts";
import { VERSION } from "../version.ts";

/** What the views are made of, in one synchronous go for each scrape and each page. */
export type ViewSources = {
  readonly clock: Clock;
  readonly startedAtMs: number;
  readonly ledger: RunningLedger;
  readonly store: StateStore | undefined;
  readonly fleet: AppFleet | undefined;
  readonly polling: AppPolling;
  readonly reload: AppReload;
  isReady(): boolean;
};

/** Of this moment only: its accounts are live. */
export function metricsView(sources: ViewSources): MetricsSnapshot {
  const { polling, store, fleet, reload } = sources;
  const { config } = reload;
  const nowMs = sources.clock.wallNow();
  const upstreams: UpstreamSnapshot[] = [];
  for (const upstream of config.upstreams) {
    const record = polling.recordOf(upstream.name);
    if (record === undefined) continue;
    const { values, schedule } = upstream;
    const { health, nextSlotAtMs } = polling.conditionOf(upstream);
    upstreams.push({
      upstream,
      accounts: record.accounts,
      health: { state: health.state, up: health.isUp },
      nextSlotAtMs,
      ...(values && { values: record.history.values.read(values, schedule.longestGapMs, nowMs) }),
    });
  }
  return {
    upstreams,
    budgets: budgetViews(config, sources),
    stateStoreUp: store?.isUp,
    fleet: fleet?.snapshot(),
    reload: reload.status,
    build: { version: VERSION, node: process.versions.node },
  };
}

export function statusView(sources: ViewSources): StatusSnapshot {
  const { polling, store, reload } = sources;
  const { config } = reload;
  const nowMs = sources.clock.wallNow();
  const budgets = new Map(config.budgets.map((budget) => [budget.name, budget]));
  const incidents = config.upstreams.flatMap(({ name }) => polling.recordOf(name)?.history.incidents ?? []);
  return {
    version: VERSION,
    startedAtMs: sources.startedAtMs,
    nowMs,
    ready: sources.isReady(),
    stateStoreUp: store?.isUp,
    lastReload: reload.status,
    upstreams: config.upstreams.flatMap((upstream) => {
      const record = polling.recordOf(upstream.name);
      return record === undefined
        ? []
        : [upstreamStatusOf(upstream, record, polling.conditionOf(upstream), nowMs)];
    }),
    budgets: budgetViews(config, sources).flatMap((view) => {
      const budget = budgets.get(view.name);
      return budget === undefined ? [] : [budgetStatusOf(budget, view, nowMs)];
    }),
    incidents: incidents.toSorted((a, b) => b.startedAtMs - a.startedAtMs),
  };
}

/** How this replica sees what it polls, in short: it tells the other replicas. */
export function fleetViews(polling: AppPolling): ReadonlyMap<string, Omit<FleetView, "vantage">> {
  return new Map(
    polling.applied.upstreams.flatMap((upstream) => {
      const history = polling.recordOf(upstream.name)?.history;
      if (history === undefined) return [];
      const { lastPoll } = history;
      const view = {
        state: polling.conditionOf(upstream).health.state,
        sinceMs: history.sinceMs,
        lastPollAtMs: lastPoll?.atMs,
        lastDurationMs: lastPoll?.durationMs,
      };
      return [[upstream.name, view] as const];
    }),
  );
}

function upstreamStatusOf(
  upstream: Upstream,
  { accounts, history }: UpstreamRecord,
  { health, pausedUntilMs, nextSlotAtMs }: Condition,
  nowMs: number,
): UpstreamStatus {
  const { name, budgets, labels, schedule, objective, degradedAboveMs } = upstream;
  return Object.assign(new RecordView(upstream, accounts, history, nowMs), {
    name,
    url: urlWithoutQuery(upstream.url),
    budgets,
    labels,
    schedule: { source: schedule.source, longestGapMs: schedule.longestGapMs },
    objective,
    degradedAboveMs,
    health: { state: health.state, sinceMs: history.sinceMs, up: health.isUp },
    pausedUntilMs,
    nextSlotAtMs,
  });
}

function valueStatusOf({ name, unit }: Value, read: ValueSnapshot | undefined, nowMs: number): ValueStatus {
  const { value, seenAtMs, burns = [] } = read ?? {};
  const sentence = creditSentence(burns, nowMs);
  const credit = { sentence, emptyAtMs: worstBurn(burns)?.emptyAtMs, burns };
  return { name, unit, value, seenAtMs, ...(burns.length > 0 && { credit }) };
}

/** Computed when read: of thousands of upstreams, a page shows few. */
class RecordView {
  readonly #upstream: Upstream;
  readonly #accounts: UpstreamAccounts;
  readonly #history: History;
  readonly #nowMs: number;
  #lastPolls: readonly PollStatus[] | undefined;

  constructor(upstream: Upstream, accounts: UpstreamAccounts, history: History, nowMs: number) {
    this.#upstream = upstream;
    this.#accounts = accounts;
    this.#history = history;
    this.#nowMs = nowMs;
  }

  get certificateExpiresAtMs(): number | undefined {
    return this.#accounts.certificateExpiresAtMs;
  }

  get announcement(): Announcement | undefined {
    return this.#history.announcement;
  }

  get values(): readonly ValueStatus[] | undefined {
    const { values: wanted, schedule } = this.#upstream;
    if (wanted === undefined) return undefined;
    const read = this.#history.values.read(wanted, schedule.longestGapMs, this.#nowMs);
    return wanted.map((value, place) => valueStatusOf(value, read[place], this.#nowMs));
  }

  get valueHistories(): UpstreamStatus["valueHistories"] {
    return this.#upstream.values?.map(({ name }) => ({
      name,
      points: this.#history.values.points(name).map(({ atMs, value }) => ({ atMs, value })),
    }));
  }

  get counts(): SlotCounts {
    const { slots, totalPolls, inFlight, waiting, totalSkipped } = this.#accounts;
    return { slots, polls: totalPolls, inFlight, waiting, skipped: totalSkipped };
  }

  get skips(): readonly SkipCount[] {
    return SKIP_CAUSES.map((cause) => ({ cause, count: this.#accounts.skipped(cause) })).filter(
      ({ count }) => count > 0,
    );
  }

  get skippedSincePoll(): readonly SkipCount[] {
    return this.#history.skippedSincePoll;
  }

  get latency(): LatencyQuantiles | undefined {
    return this.#history.latency;
  }

  get availability(): readonly AvailabilityWindow[] {
    return this.#history.availability(this.#nowMs);
  }

  get lastPolls(): readonly PollStatus[] {
    return (this.#lastPolls ??= this.#history.lastPolls);
  }

  get lastFailures(): readonly PollStatus[] {
    return this.#history.lastFailures;
  }
}

function budgetViews(config: Config, sources: ViewSources): BudgetSnapshot[] {
  const { ledger, clock, fleet } = sources;
  const scheduled = scheduledByBudget(config);
  const nowMs = clock.wallNow();
  const replicas = fleet?.snapshot().replicas ?? 1;
  const advertised = advertisedQuotas(config, sources.polling, nowMs);
  const views: BudgetSnapshot[] = [];
  for (const budget of config.budgets) {
    const standing = ledger.state(budget.name);
    if (standing === undefined) continue;
    const pauseMs = standing.pausedUntilMs - clock.now();
    const { name, quota } = budget;
    const used = standing.quotaUsed ?? 0;
    const quotas = [...(advertised.get(name)?.values() ?? [])];
    if (quota !== undefined) {
      const use = { used, buckets: ledger.quotaBuckets(name) ?? new Map(), replicas };
      quotas.unshift({ quota: "own", burns: quotaBurns(quota, use, nowMs) });
    }
    views.push({
      name,
      rates: standing.rates,
      advertisedLimit: standing.advertisedLimit,
      advertisedRemaining: standing.advertisedRemaining,
      advertisedLimits: standing.advertisedLimits,
      pausedUntilWallMs: pauseMs > 0 ? nowMs + pauseMs : 0,
      quota:
        quota === undefined
          ? undefined
          : {
              limit: quota.requests,
              used,
              unconfirmed: standing.quotaUnconfirmed ?? 0,
              forecast: scheduled.get(name),
            },
      ...(quotas.length > 0 && { quotas }),
    });
  }
  return views;
}

type ByQuota = Map<QuotaName, QuotaForecast & { readonly seenAtMs?: number }>;

/** By budget: what the newest answer to any of its upstreams tells. */
function advertisedQuotas(
  { upstreams }: Config,
  polling: AppPolling,
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
  const { advertisedLimit: limit, advertisedRemaining: remaining, quota } = view;
  return {
    name: budget.name,
    share: budget.share,
    rates: view.rates,
    advertised: limit === undefined && remaining === undefined ? undefined : { limit, remaining },
    limits: (view.advertisedLimits ?? []).map(limitStatusOf),
    pausedUntilMs: view.pausedUntilWallMs,
    quota:
      quota === undefined || budget.quota === undefined
        ? undefined
        : { ...quota, perMs: budget.quota.perMs, forecast: quota.forecast ?? quota.used },
    ...(view.quotas && {
      quotas: view.quotas.map(({ quota: name, burns }) => ({
        quota: name,
        sentence: quotaSentence(burns, nowMs),
        emptyAtMs: worstBurn(burns)?.emptyAtMs,
        burns,
      })),
    }),
  };
}

const scheduledOf = new WeakMap<Config, ReadonlyMap<string, number>>();

/** The most that the schedules ask for in one quota period. Computed once for each config. */
function scheduledByBudget(config: Config): ReadonlyMap<string, number> {
  const known = scheduledOf.get(config);
  if (known !== undefined) return known;
  const proofs = config.budgets.some((budget) => budget.quota !== undefined) ? prove(config).budgets : [];
  const scheduled = new Map(
    proofs.flatMap(({ budget, quota }) => (quota === undefined ? [] : [[budget, quota.scheduled] as const])),
  );
  scheduledOf.set(config, scheduled);
  return scheduled;
}
