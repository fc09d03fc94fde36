import type { Announcement } from "../core/answer/announcement.ts";
import type { AppFleet } from "./fleet.ts";
import type { AppPolling } from "./polling.ts";
import type { AppReload } from "./reload.ts";
import type { RunningLedger } from "../core/budget/ledger.ts";
import type { Clock } from "../core/time/clock.ts";
import type { Budget, Config, Upstream, Value } from "../core/config/config.ts";
import type { FleetView } from "../core/fleet/fleet-status.ts";
import { prove } from "../core/proof/proof.ts";
import { stallTimes } from "../core/proof/stall.ts";
import { SKIP_CAUSES } from "../core/exchange/outcome.ts";
import type { UpstreamAccounts } from "../core/metrics/accounts.ts";
import { type QuotaForecast, type QuotaName, worstBurn } from "../core/answer/credit.ts";
import { quotaBurns } from "../core/budget/quota-forecast.ts";
import { type InPieces, mergedInPieces } from "../core/status/in-pieces.ts";
import { creditSentence, quotaSentence } from "../core/status/credit-sentence.ts";
import { slotsPerDay } from "../core/schedule/schedule.ts";
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
  type HealthStatus,
  type Incident,
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
import { DAY_MS } from "../core/time/duration.ts";

/** What the views are made of: in one synchronous go for each scrape, in pieces for a page. */
export type ViewSources = {
  readonly clock: Clock;
  readonly startedAtMs: number;
  readonly ledger: RunningLedger;
  readonly store: StateStore | undefined;
  readonly fleet: AppFleet | undefined;
  readonly polling: ShownPolling;
  readonly reload: Pick<AppReload, "config" | "status">;
  isReady(): boolean;
};

type ShownPolling = Pick<AppPolling, "recordOf" | "conditionOf" | "offlineUpstreams">;

/** Of this moment only: its accounts are live. */
export function metricsView(sources: ViewSources): MetricsSnapshot {
  const { polling, store, fleet, reload } = sources;
  const { config } = reload;
  const nowMs = sources.clock.wallNow();
  const stalledAfterMs = stallTimes(config);
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
      stalledAfterMs: stalledAfterMs(upstream),
      ...(values && { values: record.history.values.read(values, schedule.longestGapMs, nowMs) }),
    });
  }
  return {
    upstreams,
    budgets: Array.from(budgetViews(config, sources), ([, view]) => view),
    stateStoreUp: store?.isUp,
    offlineUpstreams: polling.offlineUpstreams(nowMs),
    fleet: fleet?.snapshot(),
    reload: reload.status,
    build: { version: VERSION, node: process.versions.node },
  };
}

export function* statusView(sources: ViewSources): InPieces<StatusSnapshot> {
  const { polling, store, reload } = sources;
  const { config } = reload;
  const nowMs = sources.clock.wallNow();
  const upstreams: UpstreamStatus[] = [];
  const incidents: (readonly Incident[])[] = [];
  for (const upstream of config.upstreams) {
    const record = polling.recordOf(upstream.name);
    if (record === undefined) continue;
    upstreams.push(upstreamStatusOf(upstream, record, polling, nowMs));
    incidents.push(record.history.incidents);
    yield;
  }
  const budgets: BudgetStatus[] = [];
  for (const [budget, view] of budgetViews(config, sources)) {
    const status = budgetStatusOf(budget, view, nowMs);
    budgets.push((config.fleet?.reserve ?? 0) > 0 ? { ...status, hasReserve: true } : status);
    yield;
  }
  return {
    version: VERSION,
    startedAtMs: sources.startedAtMs,
    nowMs,
    ready: sources.isReady(),
    offline: polling.offlineUpstreams(nowMs) > 0,
    stateStoreUp: store?.isUp,
    lastReload: reload.status,
    upstreams,
    budgets,
    incidents: yield* mergedInPieces(incidents, (one, other) => other.startedAtMs - one.startedAtMs),
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
  polling: ShownPolling,
  nowMs: number,
): UpstreamStatus {
  const { name, budgets, labels, schedule, objective, degradedAboveMs } = upstream;
  return Object.assign(new RecordView(upstream, accounts, history, polling, nowMs), {
    name,
    url: urlWithoutQuery(upstream.url),
    budgets,
    labels,
    schedule: { source: schedule.source, longestGapMs: schedule.longestGapMs },
    objective,
    degradedAboveMs,
  });
}

function valueStatusOf({ name, unit }: Value, read: ValueSnapshot | undefined, nowMs: number): ValueStatus {
  const { value, seenAtMs, burns = [] } = read ?? {};
  const sentence = creditSentence(burns, nowMs);
  const credit = { sentence, emptyAtMs: worstBurn(burns)?.emptyAtMs, burns };
  return { name, unit, value, seenAtMs, ...(burns.length > 0 && { credit }) };
}

/** Computed when read: of thousands of upstreams, a page shows few. What is read in one go is of one moment. */
class RecordView {
  readonly #upstream: Upstream;
  readonly #accounts: UpstreamAccounts;
  readonly #history: History;
  readonly #polling: ShownPolling;
  readonly #nowMs: number;

  constructor(
    upstream: Upstream,
    accounts: UpstreamAccounts,
    history: History,
    polling: ShownPolling,
    nowMs: number,
  ) {
    this.#upstream = upstream;
    this.#accounts = accounts;
    this.#history = history;
    this.#polling = polling;
    this.#nowMs = nowMs;
  }

  get health(): HealthStatus {
    const { state, isUp } = this.#condition.health;
    return { state, sinceMs: this.#history.sinceMs, up: isUp };
  }

  get meanGapMs(): number {
    return DAY_MS / slotsPerDay(this.#upstream.schedule);
  }

  get pausedUntilMs(): number {
    return this.#condition.pausedUntilMs;
  }

  get nextSlotAtMs(): number | undefined {
    return this.#condition.nextSlotAtMs;
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

  get lastPoll(): PollStatus | undefined {
    return this.#history.lastPoll;
  }

  get lastPolls(): readonly PollStatus[] {
    return this.#history.lastPolls;
  }

  get lastFailures(): readonly PollStatus[] {
    return this.#history.lastFailures;
  }

  get #condition(): Condition {
    return this.#polling.conditionOf(this.#upstream);
  }
}

function* budgetViews(
  config: Config,
  { ledger, clock, fleet, polling }: ViewSources,
): Generator<readonly [Budget, BudgetSnapshot], void, void> {
  const scheduled = scheduledByBudget(config);
  const nowMs = clock.wallNow();
  const replicas = fleet?.snapshot().replicas ?? 1;
  const advertised = advertisedQuotas(config, polling, nowMs);
  for (const budget of config.budgets) {
    const standing = ledger.state(budget.name);
    if (standing === undefined) continue;
    const pauseMs = standing.pausedUntilMs - clock.now();
    const { name, quota } = budget;
    const used = standing.quotaUsed ?? 0;
    const quotas = [...(advertised.get(name)?.values() ?? [])];
    if (quota !== undefined) {
      const use = { used, buckets: ledger.quotas.of(name).buckets, replicas };
      const calendarMs = ledger.quotas.calendar.now();
      const burns = quotaBurns(quota, use, calendarMs).map((burn) =>
        burn.emptyAtMs === undefined ? burn : { ...burn, emptyAtMs: burn.emptyAtMs - calendarMs + nowMs },
      );
      quotas.unshift({ quota: "own", burns });
    }
    const view: BudgetSnapshot = {
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
    };
    yield [budget, view];
  }
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
