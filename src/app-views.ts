import type { BudgetStanding } from "./core/budget-standing.ts";
import type { Budget, Config, Upstream } from "./core/config.ts";
import type { FleetStatus, FleetView } from "./core/fleet-status.ts";
import type { Health } from "./core/health.ts";
import type { Clock } from "./core/ports.ts";
import { prove } from "./core/proof.ts";
import type { BudgetSnapshot, FleetSnapshot, MetricsSnapshot } from "./core/snapshot.ts";
import {
  urlWithoutQuery,
  type BudgetStatus,
  type PollStatus,
  type StatusSnapshot,
  type UpstreamStatus,
} from "./core/status.ts";
import { SKIP_CAUSES } from "./core/outcome.ts";
import type { Watch } from "./core/watch.ts";
import { VERSION } from "./version.ts";

/** What the views look at: asked anew at each scrape and each page, read in one synchronous go. */
export type Sights = {
  readonly clock: Clock;
  readonly startedAtMs: number;
  config(): Config;
  watchOf(name: string): Watch | undefined;
  conditionOf(upstream: Upstream): {
    readonly health: Health;
    readonly pausedUntilMs: number;
    readonly nextSlotAtMs: number | undefined;
  };
  standingOf(budget: string): BudgetStanding | undefined;
  isReady(): boolean;
  stateStoreUp(): boolean | undefined;
  fleet(): FleetSnapshot | undefined;
  /** How all replicas see what they poll; undefined where this process is the only one. */
  fleetStatus(): Promise<FleetStatus | undefined>;
  reload(): { readonly successful: boolean; readonly lastSuccessAtMs: number };
};

export function metricsView(sights: Sights): MetricsSnapshot {
  const config = sights.config();
  const scheduled = scheduledByBudget(config);
  return {
    upstreams: config.upstreams.flatMap((upstream) => {
      const watch = sights.watchOf(upstream.name);
      if (watch === undefined) return [];
      const { health, nextSlotAtMs } = sights.conditionOf(upstream);
      return [
        {
          upstream,
          accounts: watch.accounts.copy(),
          health: { state: health.state, up: health.isUp },
          nextSlotAtMs,
        },
      ];
    }),
    budgets: config.budgets.flatMap((budget) => budgetView(budget, sights, scheduled.get(budget.name))),
    stateStoreUp: sights.stateStoreUp(),
    fleet: sights.fleet(),
    reload: sights.reload(),
    build: { version: VERSION, node: process.versions.node },
  };
}

export function statusView(sights: Sights): StatusSnapshot {
  const config = sights.config();
  const nowMs = sights.clock.wallNow();
  const scheduled = scheduledByBudget(config);
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
      return watch === undefined ? [] : [upstreamView(upstream, watch, sights, nowMs)];
    }),
    budgets: config.budgets.flatMap((budget) =>
      budgetView(budget, sights, scheduled.get(budget.name)).map((view) => budgetStatusOf(budget, view)),
    ),
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

function upstreamView(upstream: Upstream, watch: Watch, sights: Sights, nowMs: number): UpstreamStatus {
  const { accounts, history } = watch;
  const { health, pausedUntilMs, nextSlotAtMs } = sights.conditionOf(upstream);
  let lastPolls: readonly PollStatus[] | undefined;
  return {
    name: upstream.name,
    url: urlWithoutQuery(upstream.url),
    budget: upstream.budget,
    labels: upstream.labels,
    schedule: { source: upstream.schedule.source, longestGapMs: upstream.schedule.longestGapMs },
    objective: upstream.objective,
    degradedAboveMs: upstream.degradedAboveMs,
    health: { state: health.state, sinceMs: history.sinceMs, up: health.isUp },
    pausedUntilMs,
    nextSlotAtMs,
    certificateExpiresAtMs: accounts.certificateExpiresAtMs,
    counts: {
      slots: accounts.slots,
      polls: accounts.totalPolls,
      inFlight: accounts.inFlight,
      waiting: accounts.waiting,
      skipped: accounts.totalSkipped,
    },
    skips: SKIP_CAUSES.map((cause) => ({ cause, count: accounts.skipped(cause) })).filter(
      ({ count }) => count > 0,
    ),
    skippedSincePoll: history.skippedSincePoll,
    get latency() {
      return history.latency;
    },
    get availability() {
      return history.availability(nowMs);
    },
    // Put together only where somebody looks, and then once: it is most of what there is to tell.
    get lastPolls() {
      return (lastPolls ??= history.lastPolls);
    },
    lastFailures: history.lastFailures,
  };
}

function budgetView(budget: Budget, sights: Sights, scheduled: number | undefined): BudgetSnapshot[] {
  const standing = sights.standingOf(budget.name);
  if (standing === undefined) return [];
  const pauseMs = standing.pausedUntilMs - sights.clock.now();
  const { quota } = budget;
  return [
    {
      name: budget.name,
      rates: standing.rates,
      advertisedLimit: standing.advertisedLimit,
      advertisedRemaining: standing.advertisedRemaining,
      pausedUntilWallMs: pauseMs > 0 ? sights.clock.wallNow() + pauseMs : 0,
      quota:
        quota === undefined
          ? undefined
          : { limit: quota.requests, used: standing.quotaUsed ?? 0, forecast: scheduled },
    },
  ];
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
