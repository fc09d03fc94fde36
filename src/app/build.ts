import { startThread } from "../adapters/thread.ts";
import { systemClock } from "../adapters/clock.ts";
import { cronTriggers } from "../adapters/node-cron.ts";
import { createMetrics } from "../adapters/metrics/metrics.ts";
import { parseStructuredList } from "../adapters/structured-headers.ts";
import type { FleetParts, OpenedLedger } from "./open-fleet.ts";
import { AppMembership } from "./membership.ts";
import { AppPolling, UpstreamRecords } from "./polling.ts";
import { AppReload } from "./reload.ts";
import { fleetViews, metricsView, type ViewSources, statusView } from "./views.ts";
import { describeConfig } from "../config/describe.ts";
import { ConfigWatch } from "../config/watch.ts";
import type { Config } from "../core/config/config.ts";
import type { StateStore } from "../core/history/state.ts";
import { messageOf, stackOf } from "../core/text/escape.ts";
import { LocalLedger } from "../core/budget/local-ledger.ts";
import { RedisAccount } from "../core/metrics/redis-account.ts";
import { Supervisor } from "../engine/poll/supervisor.ts";
import { hostsToAllow } from "../http/guards/host-check.ts";
import { type RunningServer, startServer } from "../http/server/server.ts";
import { openStateStore } from "../adapters/sqlite/store.ts";
import type { Log } from "../core/text/log.ts";
import type { RunningLedger } from "../core/budget/ledger.ts";
import type { Clock } from "../core/time/clock.ts";
import type { QuotaReading } from "../core/budget/quota-journal.ts";
import type { KnownKeys } from "../adapters/secrets/known-keys.ts";
import type { Logger } from "../adapters/log/logger.ts";
import type { ReloadResult } from "../http/routes/routes.ts";

/** All of it but the config and the state file, which it begins with. */
export async function build(
  config: Config,
  digest: string,
  store: StateStore | undefined,
  options: AppOptions,
  stack: AsyncDisposableStack,
): Promise<Start> {
  const { configPath, environment, withdraw, keys, log } = options;
  const clock = systemClock;
  const startedAtMs = clock.wallNow();
  const watches = new UpstreamRecords(clock, log, store);
  const onBug = (error: unknown): void =>
    log.error({ error: keys.hide(stackOf(error)) }, "a bug in pacewatch");
  const account = new RedisAccount();
  const onRedisCall: FleetParts["onRedisCall"] = ({ call, durationMs, failure }) =>
    account.observe(call, durationMs, failure);
  const quotas = store?.restoredQuotas;
  const opened = await openLedger(config, { ...options, clock, quotas, onBug, onRedisCall }, stack);
  if (opened.kind === "refused") return opened;
  const { ledger, redis } = opened;
  let polls = 0;
  const supervisor = new Supervisor({
    clock,
    ledger,
    triggers: cronTriggers(log),
    parseList: parseStructuredList,
    recorderOf: (upstream) => watches.of(upstream.name),
    nextPollId: () => `${startedAtMs.toString(36)}-${(polls += 1).toString(36)}`,
    onBug,
  });
  let fleet: AppMembership | undefined;
  const polling = new AppPolling(config, {
    environment,
    keys,
    clock,
    log,
    supervisor,
    watches,
    holds: (upstream) => fleet?.holds(upstream) === true,
    isSharded: config.fleet?.mode === "shard",
  });
  const reload = new AppReload(config, {
    configPath,
    environment,
    withdraw,
    keys,
    clock,
    log,
    ledger,
    polling,
    onChanged: () => fleet?.changed(),
  });
  let isReady = false;
  const sources: ViewSources = {
    clock,
    startedAtMs,
    config: () => reload.config,
    // What is no longer ours is not shown, even before it has been cut off.
    watchOf: (name) => (fleet?.holds(name) === false ? undefined : watches.find(name)),
    conditionOf: (upstream) => supervisor.conditionOf(upstream),
    standingOf: (budget) => ledger.standing(budget),
    isReady: () => isReady,
    stateStoreUp: () => store?.isUp,
    fleet: () => fleet?.snapshot(),
    fleetStatus: () => fleet?.status() ?? Promise.resolve(undefined),
    reload: () => reload.status,
  };
  const server = await startHttp(options, reload, sources, stack);
  if (typeof server === "string") return { kind: "refused", faults: [server] };
  stack.use(server);
  if (config.fleet !== undefined && redis !== undefined) {
    fleet = new AppMembership({
      fleet: config.fleet,
      redis,
      account,
      clock,
      log,
      listensOn: server.url,
      config: () => reload.config,
      events: {
        onGained: (gained) => void polling.gain(gained).catch(onBug),
        onLost: (upstreams) => polling.lose(upstreams),
        drain: (upstreams) => polling.drain(upstreams),
      },
      views: () =>
        fleetViews(
          polling.applied,
          (name) => watches.find(name),
          (upstream) => supervisor.conditionOf(upstream),
        ),
      onBug,
    });
    // After the last poll: then the others may take over what was held here.
    stack.defer(() => fleet?.close());
  }
  stack.defer(() => supervisor.drain());
  const probing = await polling.open(config);
  if (probing.kind === "refused") return probing;
  // Before the first request may be sent.
  await store?.keepQuotas(() => quotaReadings(reload.config, ledger));
  polling.apply(config, probing.probes);
  fleet?.start();
  const onChange = async (): Promise<void> => void (await reload.run());
  const { signal } = new AbortController();
  stack.use(new ConfigWatch(configPath, { clock, digest, onChange, onError: onBug }, signal));
  stack.defer(() => polling.stop());
  stack.defer(() => reload.stop());
  stack.defer(() => fleet?.leave());
  stack.defer(() => void (isReady = false));
  isReady = true;
  log.info({ url: server.url, upstreams: config.upstreams.length }, "listening");
  return {
    kind: "started",
    app: { url: server.url, reload: () => reload.run(), stop: () => Promise.resolve() },
  };
}

/** Of this process alone, or of many: what a fleet needs is loaded for a fleet alone. */
async function openLedger(
  config: Config,
  parts: FleetParts,
  stack: AsyncDisposableStack,
): Promise<OpenedLedger> {
  if (config.fleet === undefined) {
    const ledger = new LocalLedger(config, parts.clock, parts.quotas);
    return { kind: "opened", ledger, redis: undefined };
  }
  const { openFleet } = await import("./open-fleet.ts");
  return openFleet(config, config.fleet, parts, stack);
}

/** The server, or one sentence why there is none. */
async function startHttp(
  { listen, log, keys }: AppOptions,
  reload: AppReload,
  sources: ViewSources,
  stack: AsyncDisposableStack,
): Promise<RunningServer | string> {
  const metrics = stack.use(
    createMetrics(
      () => metricsView(sources),
      (error) =>
        log.error({ error: keys.hide(stackOf(error)) }, "a bug in pacewatch: a scrape was cut short"),
    ),
  );
  const { web } = reload.config;
  const { host, port } = listen ?? web;
  try {
    return await startServer({
      host,
      port,
      get allowedHosts() {
        return hostsToAllow(reload.config.web.allowedHosts, host);
      },
      webConfigPath: web.configFile,
      status: () => statusView(sources),
      metrics: (isGzipWelcome) => metrics.render(isGzipWelcome),
      config: () => describeConfig(reload.config),
      reload: () => reload.run(),
      get lifecycleEnabled() {
        return reload.config.web.enableLifecycle;
      },
      fleet: () => sources.fleetStatus(),
      ready: () => sources.isReady(),
      startWorker: startThread,
      onWarning: (message) => log.warn({}, message),
    });
  } catch (error) {
    return messageOf(error);
  }
}

export type OpenedState =
  /** None where the config names no file: then history and quotas live in memory. */
  | { readonly kind: "opened"; readonly store: StateStore | undefined }
  | { readonly kind: "refused"; readonly faults: readonly string[] };

export async function openState(
  { state }: Config,
  parts: { readonly clock: Clock; readonly log: Log },
): Promise<OpenedState> {
  if (state === undefined) return { kind: "opened", store: undefined };
  const opened = await openStateStore({ ...parts, path: state.path });
  return opened.kind === "refused" ? { kind: "refused", faults: [opened.message] } : opened;
}

/** What the state file must know of every budget that has a quota. */
function quotaReadings(config: Config, ledger: RunningLedger): ReadonlyMap<string, QuotaReading> {
  return new Map(
    config.budgets.flatMap(({ name, quota }) => {
      const buckets = ledger.quotaBuckets(name);
      if (quota === undefined || buckets === undefined) return [];
      return [[name, { buckets, paceGapMs: ledger.restraint(name).paceGapMs }] as const];
    }),
  );
}

export type Start =
  | { readonly kind: "started"; readonly app: App }
  | { readonly kind: "refused"; readonly faults: readonly string[] };

export type App = {
  readonly url: string;
  reload(): Promise<ReloadResult>;
  /** No new polls; those in flight may end, and the metrics are there until they have. */
  stop(): Promise<void>;
};

export type AppOptions = {
  readonly configPath: string;
  /** In place of the config's own address. */
  readonly listen: { readonly host: string; readonly port: number } | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Called with the variables that hold a secret: the process itself needs them no longer. */
  readonly withdraw: (variables: readonly string[]) => void;
  readonly keys: KnownKeys;
  readonly log: Logger;
};
