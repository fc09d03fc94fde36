import { UpstreamView } from "./upstream-view.ts";
import type { BudgetState } from "../core/budget/ledger.ts";
import type { Clock } from "../core/time/clock.ts";
import type { Budget, Config, Upstream } from "../core/config/config.ts";
import type { FleetStatus, FleetView } from "../core/fleet/fleet-status.ts";
import { prove } from "../core/proof/proof.ts";
import type {
  BudgetSnapshot,
  FleetSnapshot,
  MetricsSnapshot,
  UpstreamSnapshot,
} from "../core/metrics/snapshot.ts";
import type { BudgetStatus, StatusSnapshot } from "../core/status/status.ts";
import type { UpstreamRecord } from "../core/history/upstream-record.ts";
import type { Condition } from "../engine/poll/supervisor.ts";
import { VERSION } from "../version.ts";

/** What the views look at: asked anew at each scrape and each page, read in one synchronous go. */
export type ViewSources = {
  readonly clock: Clock;
  readonly startedAtMs: number;
  config(): Config;
  watchOf(name: string): UpstreamRecord | undefined;
  conditionOf(upstream: Upstream): Condition;
  standingOf(budget: string): BudgetState | undefined;
  isReady(): boolean;
  stateStoreUp(): boolean | undefined;
  fleet(): FleetSnapshot | undefined;
  /** How all replicas see what they poll; undefined where this process is the only one. */
  fleetStatus(): Promise<FleetStatus | undefined>;
  reload(): { readonly successful: boolean; readonly lastSuccessAtMs: number };
};

/** Of this moment only: its accounts go on. */
export function metricsView(sources: ViewSources): MetricsSnapshot {
  const config = sources.config();
  const upstreams: UpstreamSnapshot[] = [];
  for (const upstream of config.upstreams) {
    const accounts = sources.watchOf(upstream.name)?.accounts;
    if (accounts === undefined) continue;
    const { health, nextSlotAtMs } = sources.conditionOf(upstream);
    upstreams.push({
      upstream,
      accounts,
      health: { state: health.state, up: health.isUp },
      nextSlotAtMs,
    });
  }
  return {
    upstreams,
    budgets: budgetViews(config, sources),
    stateStoreUp: sources.stateStoreUp(),
    fleet: sources.fleet(),
    reload: sources.reload(),
    build: { version: VERSION, node: process.versions.node },
  };
}

export function statusView(sources: ViewSources): StatusSnapshot {
  const config = sources.config();
  const nowMs = sources.clock.wallNow();
  const budgets = new Map(config.budgets.map((budget) => [budget.name, budget]));
  const incidents = config.upstreams.flatMap(({ name }) => sources.watchOf(name)?.history.incidents ?? []);
  return {
    version: VERSION,
    startedAtMs: sources.startedAtMs,
    nowMs,
    ready: sources.isReady(),
    stateStoreUp: sources.stateStoreUp(),
    lastReload: sources.reload(),
    upstreams: config.upstreams.flatMap((upstream) => {
      const watch = sources.watchOf(upstream.name);
      return watch === undefined
        ? []
        : [new UpstreamView(upstream, watch, sources.conditionOf(upstream), nowMs)];
    }),
    budgets: budgetViews(config, sources).flatMap((view) => {
      const budget = budgets.get(view.name);
      return budget === undefined ? [] : [budgetStatusOf(budget, view)];
    }),
    incidents: incidents.toSorted((a, b) => b.startedAtMs - a.startedAtMs),
  };
}

/** How this replica sees what it polls, in short: for the others to know. */
export function fleetViews(
  polled: Config,
  watchOf: ViewSources["watchOf"],
  conditionOf: ViewSources["conditionOf"],
): ReadonlyMap<string, Omit<FleetView, "vantage">> {
  return new Map(
    polled.upstreams.flatMap((upstream) => {
      const watch = watchOf(upstream.name);
      if (watch === undefined) return [];
      const lastPoll = watch.history.lastPolls.at(-1);
      const view = {
        state: conditionOf(upstream).health.state,
        sinceMs: watch.history.sinceMs,
        lastPollAtMs: lastPoll?.atMs,
        lastDurationMs: lastPoll?.durationMs,
      };
      return [[upstream.name, view] as const];
    }),
  );
}

function budgetViews(config: Config, sources: ViewSources): BudgetSnapshot[] {
  const scheduled = scheduledByBudget(config);
  const views: BudgetSnapshot[] = [];
  for (const budget of config.budgets) {
    const standing = sources.standingOf(budget.name);
    if (standing === undefined) continue;
    const pauseMs = standing.pausedUntilMs - sources.clock.now();
    const { name, quota } = budget;
    views.push({
      name,
      rates: standing.rates,
      advertisedLimit: standing.advertisedLimit,
      advertisedRemaining: standing.advertisedRemaining,
      pausedUntilWallMs: pauseMs > 0 ? sources.clock.wallNow() + pauseMs : 0,
      quota:
        quota === undefined
          ? undefined
          : { limit: quota.requests, used: standing.quotaUsed ?? 0, forecast: scheduled.get(name) },
    });
  }
  return views;
}

function budgetStatusOf(budget: Budget, view: BudgetSnapshot): BudgetStatus {
  const { advertisedLimit: limit, advertisedRemaining: remaining, quota } = view;
  return {
    name: budget.name,
    share: budget.share,
    rates: view.rates,
    advertised: limit === undefined && remaining === undefined ? undefined : { limit, remaining },
    pausedUntilMs: view.pausedUntilWallMs,
    quota:
      quota === undefined || budget.quota === undefined
        ? undefined
        : { ...quota, perMs: budget.quota.perMs, forecast: quota.forecast ?? quota.used },
  };
}

const scheduledOf = new WeakMap<Config, ReadonlyMap<string, number>>();

/** The most that the schedules ask for in one quota period: a fact of the config, worked out once for each. */
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
