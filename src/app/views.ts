import type { AppFleet } from "../features/fleet/fleet.ts";
import type { AppPolling } from "./polling.ts";
import type { AppReload } from "./reload.ts";
import { worstBurn } from "../features/history/credit.ts";
import { WHY } from "../features/hints/concern.ts";
import type { Budgets } from "./features/polling.ts";
import type { Budget } from "../kernel/config/config.ts";
import { factsOf, type Polled, summaryOf } from "../features/status/facts.ts";
import { lostAtMs, type StateStore } from "../features/history/state.ts";
import { completed } from "../kernel/metrics/family.ts";
import type {
  BudgetSnapshot,
  MetricsSnapshot,
  Running,
  UpstreamSnapshot,
} from "../kernel/metrics/snapshot.ts";
import { METRICS } from "./features/metrics.ts";
import type { QuotaSnapshot } from "../features/quota/standing.ts";
import { stalledAtMs } from "../proof/proof.ts";
import { quotaSentence } from "../features/history/credit-sentence.ts";
import { limitStatusOf } from "../features/status/limit-sentence.ts";
import type { BudgetStatus, Status } from "../features/status/status.ts";
import { type Columns, type Range, spanOf } from "../features/history/timeline.ts";
import type { Clock } from "../kernel/time/clock.ts";
import type { Notifier } from "../features/notify/notifier.ts";
import { DAY_MS } from "../kernel/time/duration.ts";
import { VERSION } from "../version.ts";
import type { QuotaName } from "../features/quota/quota-forecast.ts";

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
  readonly budgets: Pick<Budgets, "ledger" | "hints" | "quotas">;
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
  const running = runningOf(sources);
  const viewOf = life && budgetViews(running, life);
  return {
    ...running,
    upstreams: life === undefined ? [] : upstreamViews(running, sources, life.polling),
    budgets:
      viewOf === undefined
        ? []
        : Iterator.from(config.budgets)
            .map(viewOf)
            .filter((view) => view !== undefined),
    offlineUpstreams: life?.polling.offlineUpstreams(clock.wallNow()),
    vantage: config.vantage?.name,
    reload: reload.status,
    build: { version: VERSION, node: process.versions.node },
    startedAtMs: sources.startedAtMs(),
  };
}

function runningOf(sources: ViewSources): Running {
  const { config, proof } = sources.reload;
  const life = sources.life();
  return {
    ...life,
    ...life?.budgets,
    recordOf: (upstream) => life?.polling.recordOf(upstream),
    fleet: sources.fleet?.(),
    config,
    proof,
    nowMs: sources.clock.wallNow(),
  };
}

function* upstreamViews(
  running: Running,
  { clock, reload }: ViewSources,
  polling: ShownPolling,
): Generator<UpstreamSnapshot> {
  const { latenessMs } = reload.proof;
  const given = METRICS.map(({ ofUpstream }) => ofUpstream);
  const complete = completed(given, running);
  for (const upstream of running.config.upstreams) {
    const record = polling.recordOf(upstream.name);
    if (record === undefined) continue;
    const nowMs = clock.wallNow();
    const owedSinceMs = polling.owedSinceMs(upstream.name) ?? nowMs;
    yield complete({
      upstream,
      accounts: record.accounts,
      health: polling.healthOf(upstream.name),
      nowMs,
      stalledAtMs: stalledAtMs(upstream.schedule, owedSinceMs, latenessMs.get(upstream.name) ?? Infinity),
    });
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
  const viewOf = life && budgetViews(runningOf(sources), life);
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
    stateLostAtMs: lostAtMs(store, nowMs),
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
      const points = polling?.recordOf(name)?.history.tracks.of(value)?.points ?? [];
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
  running: Running,
  { budgets: { ledger } }: Life,
): (budget: Budget) => BudgetSnapshot | undefined {
  const given = METRICS.map(({ ofBudget }) => ofBudget);
  const complete = completed(given, running);
  return ({ name }) => {
    const rates = ledger.ratesOf(name);
    return rates && complete({ name, rates });
  };
}

function budgetStatusOf(budget: Budget, view: BudgetSnapshot, nowMs: number): BudgetStatus {
  const { advertisedLimit: limit, advertisedRemaining: remaining, advertisedLimits = [] } = view;
  const { pausedUntilWallMs: pausedUntilMs = 0, refusedWhy, quota, spend, quotas = [] } = view;
  const ours: Partial<Record<QuotaName, QuotaSnapshot | undefined>> = { own: quota, spend };
  return {
    name: budget.name,
    share: budget.share,
    ...(budget.vantage && { vantage: budget.vantage }),
    rates: view.rates,
    advertised: limit === undefined && remaining === undefined ? undefined : { limit, remaining },
    limits: advertisedLimits.map(limitStatusOf),
    pausedUntilMs,
    ...(pausedUntilMs > 0 && refusedWhy && { pausedBecause: WHY[refusedWhy] }),
    quota,
    ...(spend && { spend }),
    ...(quotas.length > 0 && {
      quotas: quotas.map(({ quota: name, burns }) => ({
        quota: name,
        sentence: quotaSentence(burns, nowMs, ours[name]),
        emptyAtMs: worstBurn(burns)?.emptyAtMs,
        burns,
      })),
    }),
  };
}
