import type { Lead } from "./features/lead.ts";
import type { AppPolling } from "./polling.ts";
import type { AppReload } from "./reload.ts";
import type { Budgets } from "./features/polling.ts";
import type { Budget } from "../kernel/config/config.ts";
import {
  budgetStatusOf,
  factsOf,
  type Polled,
  readersOf,
  shownOf,
  summaryOf,
  usedUpOf,
} from "../features/status/facts.ts";
import { lostAtMs, type StateStore } from "../features/history/state.ts";
import { completed } from "../kernel/metrics/family.ts";
import type {
  BudgetSnapshot,
  MetricsSnapshot,
  Running,
  UpstreamSnapshot,
} from "../kernel/metrics/snapshot.ts";
import { FACTS, METRICS } from "./features/shown.ts";
import { stalledAtMs } from "../proof/proof.ts";
import type { BudgetStatus, Status } from "../features/status/status.ts";
import { type Columns, type Range, spanOf } from "../features/history/timeline.ts";
import type { Clock } from "../kernel/time/clock.ts";
import { DAY_MS } from "../kernel/time/duration.ts";
import type { Fields } from "../kernel/text/field.ts";
import { VERSION } from "../version.ts";

/** The views are made of these: of all for each scrape, and for a page what it shows. */
export type ViewSources = {
  readonly clock: Clock;
  readonly startedAtMs: () => number;
  /** Undefined while another process leads. */
  life(): Life | undefined;
  /** Undefined without one. */
  lead?(): Pick<Lead, "running" | "status"> | undefined;
  readonly reload: Pick<AppReload, "config" | "proof" | "status">;
  isReady(): boolean;
};

/** The polling, and all that follows from its polls. */
type Life = {
  readonly budgets: Pick<Budgets, "ledger" | "hints" | "quotas">;
  readonly store: StateStore | undefined;
  readonly polling: ShownPolling;
  readonly running: Partial<Running>;
};

type ShownPolling = Pick<
  AppPolling,
  "recordOf" | "healthOf" | "owedSinceMs" | "nextSlotAtMs" | "offlineUpstreams"
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
    reload: reload.status,
    build: { version: VERSION, node: process.versions.node },
    startedAtMs: sources.startedAtMs(),
  };
}

function runningOf(sources: ViewSources): Running {
  const { config, proof } = sources.reload;
  const life = sources.life();
  return {
    ...life?.running,
    ...life?.budgets,
    ...sources.lead?.()?.running,
    store: life?.store,
    recordOf: (upstream) => life?.polling.recordOf(upstream),
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
  const { reload } = sources;
  const { config } = reload;
  const life = sources.life();
  const fleet = sources.lead?.()?.status;
  const { polling, store } = life ?? {};
  const running = runningOf(sources);
  const { nowMs } = running;
  const upstreamOf = byName(config.upstreams);
  const polled = (name: string): Polled | undefined => {
    const [upstream, record] = [upstreamOf(name), polling?.recordOf(name)];
    if (polling === undefined || upstream === undefined || record === undefined) return undefined;
    return { upstream, record, health: polling.healthOf(name), nextSlotAtMs: polling.nextSlotAtMs(upstream) };
  };
  const shownIn = (name: string, part?: "details"): Fields => {
    const found = polled(name);
    return found ? shownOf(found, FACTS, running, part) : {};
  };
  const budgetOf = byName(config.budgets);
  const viewOf = life && budgetViews(running, life);
  const shown = new Map<string, BudgetStatus | undefined>();
  const shownBudget = (budget: Budget | undefined): BudgetStatus | undefined => {
    const view = budget && viewOf?.(budget);
    return view && budgetStatusOf(budget, view, FACTS, nowMs);
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
    names: namesOf(config.upstreams),
    upstreams: {
      *[Symbol.iterator]() {
        for (const { name } of config.upstreams) {
          const found = polled(name);
          if (found !== undefined) yield summaryOf(found, FACTS, running);
        }
      },
    },
    facts: (name) => {
      const found = polled(name);
      return found && factsOf(found, FACTS, running);
    },
    columns: (name, range) =>
      polling?.recordOf(name)?.history.columns(range, nowMs) ?? {
        columnMs: range.columnMs,
        columns: [],
        areQuantiles: false,
      },
    incidentsOf: (name) => polling?.recordOf(name)?.history.incidents ?? [],
    details: (name) => shownIn(name, "details"),
    shown: shownIn,
    budgets: namesOf(config.budgets),
    budget: (name) => {
      // Thousands of upstreams may ask for the same one.
      if (!shown.has(name)) shown.set(name, shownBudget(budgetOf(name)));
      return shown.get(name);
    },
    usedUp: (name, budget) => usedUpOf(upstreamOf(name), budget, FACTS, running),
    ...readersOf(FACTS),
  };
}

type Named = { readonly name: string };

function namesOf(all: readonly Named[]): Iterable<string> {
  return {
    *[Symbol.iterator]() {
      for (const { name } of all) yield name;
    },
  };
}

/** There are thousands, and some answers ask for none. */
function byName<Found extends Named>(all: readonly Found[]): (name: string) => Found | undefined {
  let known: ReadonlyMap<string, Found> | undefined;
  return (name) => (known ??= new Map(all.map((each) => [each.name, each]))).get(name);
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
