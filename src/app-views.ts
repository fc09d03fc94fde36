import { UpstreamView } from "./app-upstream-view.ts";
import type { BudgetStanding } from "./core/budget-standing.ts";
import type { Budget, Config, Upstream } from "./core/config.ts";
import type { FleetStatus, FleetView } from "./core/fleet-status.ts";
import type { Clock } from "./core/ports.ts";
import { prove } from "./core/proof.ts";
import type { BudgetSnapshot, FleetSnapshot, MetricsSnapshot, UpstreamSnapshot } from "./core/snapshot.ts";
import type { BudgetStatus, StatusSnapshot } from "./core/status.ts";
import type { Watch } from "./core/watch.ts";
import type { Condition } from "./engine/supervisor.ts";
import { VERSION } from "./version.ts";

/** What the views look at: asked anew at each scrape and each page, read in one synchronous go. */
export type Sights = {
  readonly clock: Clock;
  readonly startedAtMs: number;
  config(): Config;
  watchOf(name: string): Watch | undefined;
  conditionOf(upstream: Upstream): Condition;
  standingOf(budget: string): BudgetStanding | undefined;
  isReady(): boolean;
  stateStoreUp(): boolean | undefined;
  fleet(): FleetSnapshot | undefined;
  /** How all replicas see what they poll; undefined where this process is the only one. */
  fleetStatus(): Promise<FleetStatus | undefined>;
  reload(): { readonly successful: boolean; readonly lastSuccessAtMs: number };
};

/** Of this moment only: its accounts go on. */
export function metricsView(sights: Sights): MetricsSnapshot {
  const config = sights.config();
  const upstreams: UpstreamSnapshot[] = [];
  for (const upstream of config.upstreams) {
    const accounts = sights.watchOf(upstream.name)?.accounts;
    if (accounts === undefined) continue;
    const { health, nextSlotAtMs } = sights.conditionOf(upstream);
    upstreams.push({
      upstream,
      accounts,
      health: { state: health.state, up: health.isUp },
      nextSlotAtMs,
    });
  }
  return {
    upstreams,
    budgets: budgetViews(config, sights),
    stateStoreUp: sights.stateStoreUp(),
    fleet: sights.fleet(),
    reload: sights.reload(),
    build: { version: VERSION, node: process.versions.node },
  };
}

export function statusView(sights: Sights): StatusSnapshot {
  const config = sights.config();
  const nowMs = sights.clock.wallNow();
  const budgets = new Map(config.budgets.map((budget) => [budget.name, budget]));
  const incidents = config.upstreams.flatMap(({ name }) => sights.watchOf(name)?.history.incidents ?? []);
  return {
    version: VERSION,
    startedAtMs: sights.startedAtMs,
    nowMs,
    ready: sights.isReady(),
    stateStoreUp: sights.stateStoreUp(),
    lastReload: sights.reload(),
    upstreams: config.upstreams.flatMap((upstream) => {
      const watch = sights.watchOf(upstream.name);
      return watch === undefined
        ? []
        : [new UpstreamView(upstream, watch, sights.conditionOf(upstream), nowMs)];
    }),
    budgets: budgetViews(config, sights).flatMap((view) => {
      const budget = budgets.get(view.name);
      return budget === undefined ? [] : [budgetStatusOf(budget, view)];
    }),
    incidents: incidents.toSorted((a, b) => b.startedAtMs - a.startedAtMs),
  };
}

/** How this replica sees what it polls, in short: for the others to know. */
export function fleetViews(
  polled: Config,
  watchOf: Sights["watchOf"],
  conditionOf: Sights["conditionOf"],
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

function budgetViews(config: Config, sights: Sights): BudgetSnapshot[] {
  const scheduled = scheduledByBudget(config);
  const views: BudgetSnapshot[] = [];
  for (const budget of config.budgets) {
    const standing = sights.standingOf(budget.name);
    if (standing === undefined) continue;
    const pauseMs = standing.pausedUntilMs - sights.clock.now();
    const { name, quota } = budget;
    views.push({
      name,
      rates: standing.rates,
      advertisedLimit: standing.advertisedLimit,
      advertisedRemaining: standing.advertisedRemaining,
      pausedUntilWallMs: pauseMs > 0 ? sights.clock.wallNow() + pauseMs : 0,
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
