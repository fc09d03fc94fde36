import { askOnce, Thread } from "../adapters/thread.ts";
import { systemClock } from "../adapters/clock.ts";
import type { Logger } from "../adapters/log/logger.ts";
import { NameResolver } from "../adapters/dns/name-resolver.ts";
import { scrape } from "../adapters/metrics/metrics.ts";
import type { KnownKeys } from "../adapters/secrets/known-keys.ts";
import type { AppFleet, FleetParts, OpenedLedger } from "./fleet.ts";
import { connectionsLeft, limitNeeded, type OpenFiles, readOpenFiles } from "./open-files.ts";
import { AppNotify } from "./notify.ts";
import { quietMoment } from "./quiet-moment.ts";
import { AppPolling } from "./polling.ts";
import { AppReload, type LoadedConfig } from "./reload.ts";
import { columnsInFile, fleetViews, metricsView, statusView, type ViewSources } from "./views.ts";
import { WebConfigFile } from "../config/web/file.ts";
import { ConfigWatch, type WatchCause } from "../config/watch.ts";
import type { RunningLedger } from "../core/budget/ledger.ts";
import { JournaledLedger } from "../core/budget/journaled-ledger.ts";
import { LocalLedger } from "../core/budget/local-ledger.ts";
import { UpstreamPauses } from "../core/budget/pauses.ts";
import { type BudgetRecord, NOTHING_HELD } from "../core/budget/record.ts";
import { Quotas } from "../core/budget/quotas.ts";
import type { Address, Config } from "../core/config/config.ts";
import type { Opened } from "../core/config/opened.ts";
import type { StateStore } from "../core/history/state.ts";
import { reportedOf } from "../core/report/report.ts";
import { stackOf } from "../core/text/escape.ts";
import type { Clock } from "../core/time/clock.ts";
import { MINUTE_MS } from "../core/time/duration.ts";
import { hostsToAllow } from "../http/guards/request-checks.ts";
import type { ReloadResult, RoutesDeps } from "../http/routes/routes.ts";
import { DEFAULT_SERVER_LIMITS } from "../http/server/limits.ts";
import { type RunningServer, startServer } from "../http/server/server.ts";

/** Their URL is one that a browser on this machine can open. */
const WILDCARD_HOSTS: ReadonlySet<string> = new Set(["", "0.0.0.0", "::"]);

/** Builds all but the config and the state file, which come first. `stack` closes in reverse what is opened here. */
export async function build(
  loaded: LoadedConfig,
  store: StateStore | undefined,
  options: AppOptions,
  stack: AsyncDisposableStack,
): Promise<Opened<App>> {
  const { config } = loaded;
  const { configPath, keys, log } = options;
  const clock = systemClock;
  const onBug = (error: unknown): void =>
    log.error({ error: keys.hide(stackOf(error)) }, "a bug in pacewatch");
  const stopping = new AbortController();
  const names = new NameResolver({ clock });
  const parts = { ...options, clock, names, onBug, stopping: stopping.signal };

  const quotas = new Quotas(clock, store?.standing.quotas);
  let fleet: AppFleet | undefined;
  const pauses = new UpstreamPauses(clock, store?.standing.pauses, (upstream, record) => {
    fleet?.tellPause(upstream, record.pausedUntilMs - clock.wallNow());
    store?.keepPause(upstream, record);
  });
  const opened = await openLedger(config, { ...parts, quotas, records: store?.standing.budgets }, stack);
  if (opened.kind === "refused") return opened;
  const { ledger } = opened.what;
  const holdings = config.fleet?.mode === "shard" ? opened.what.fleet?.holdings : undefined;
  const homes = [...(store === undefined ? [] : [store]), ...opened.what.homes];
  const journaled = homes.length === 0 ? undefined : new JournaledLedger(ledger, homes, clock);
  // After the last poll, before the state file is closed.
  stack.defer(async () => {
    quotas.calendar.settle();
    await journaled?.written();
  });
  const notify = new AppNotify(config, { ...parts, store });
  const { notifier } = notify;
  const polling = new AppPolling(config, {
    ...parts,
    ledger: journaled ?? ledger,
    quotas,
    pauses,
    store,
    notifier,
    holdings,
  });
  fleet = opened.what.fleet?.join({
    views: (isWhole) => fleetViews(polling.toTell(isWhole), polling, ledger, clock, notify.bulletins()),
    notifiedRecords: (replica, isEldest) => notify.records(replica, isEldest),
    onGained: (gained) => void polling.gain(gained).catch(onBug),
    onLost: (upstreams) => void polling.drop(upstreams, "cut off"),
    drain: (upstreams) => polling.drop(upstreams, "drain"),
    onPaused: (upstream, forMs) => polling.pause(upstream, forMs),
  });
  const onChanged = (changed: Config): void => {
    fleet?.changed(changed);
    notify.changed(changed);
  };
  const reload = new AppReload(loaded, { ...parts, ledger, polling, onChanged });

  let isStarted = false;
  const isReady = (): boolean => isStarted && !stopping.signal.aborted;
  const sources: ViewSources = {
    clock,
    startedAtMs: startOf(clock),
    ledger,
    store,
    fleet,
    polling,
    notifier,
    reload,
    isReady,
  };
  const serving = await startHttp(options, sources, reload, stack);
  if (serving.kind === "refused") return serving;
  const server = serving.what;
  // After the last poll: then other replicas may take over what this one held.
  stack.defer(() => fleet?.membership.close());
  // What the last poll led to may still be told.
  stack.defer(() => notifier.close());
  stack.use(polling);
  stack.use(reload);

  const probing = await polling.open(config);
  if (probing.kind === "refused") return probing;
  store?.readAfterTrouble(() => ({
    quotas: quotas.kept,
    budgets: recordsOf(reload.config, ledger),
    pauses: pauses.records,
    notifications: notifier.remembered,
  }));
  polling.apply(config, probing.what);
  notify.start({ ...sources, polling });
  fleet?.start(reload.config, server.url);
  const watching = {
    clock,
    last: () => reload.last,
    reload: (cause: WatchCause) => reload.run(cause),
    onError: onBug,
  };
  stack.use(new ConfigWatch(configPath, watching, stopping.signal));
  stack.defer(() => {
    stopping.abort();
    fleet?.membership.leave();
  });
  isStarted = true;
  const { url, probesUrl } = server;
  const isEverywhere = WILDCARD_HOSTS.has((options.listen ?? config.web.listen).host);
  log.info(
    {
      url,
      ...(isEverywhere && { addresses: "all" }),
      ...(probesUrl !== undefined && { probesUrl }),
      upstreams: config.upstreams.length,
    },
    "listening",
  );
  const owned = stack.move();
  return {
    kind: "opened",
    what: {
      url: server.url,
      reload: () => reload.run("asked"),
      quietMoment: (signal) =>
        quietMoment({ upstreams: config.upstreams.length, inFlight: () => polling.inFlight, clock, signal }),
      stop: () => owned.disposeAsync(),
    },
  };
}

/** The code of a fleet is loaded only where there is one. */
async function openLedger(
  config: Config,
  parts: FleetParts,
  stack: AsyncDisposableStack,
): Promise<Opened<OpenedLedger>> {
  if (config.fleet === undefined) {
    const ledger = new LocalLedger(config, parts.clock, parts.quotas, parts.records);
    return { kind: "opened", what: { ledger, homes: [], fleet: undefined } };
  }
  const { openFleet } = await import("./fleet.ts");
  return openFleet(config, config.fleet, parts, stack);
}

/** When this process started, by the wall clock as it is now: that may have been set since, by more than clocks drift. */
function startOf(clock: Clock): () => number {
  let startedAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    const atMs = Math.round(clock.wallNow() - clock.now());
    if (Math.abs(atMs - startedAtMs) > MINUTE_MS) startedAtMs = atMs;
    return startedAtMs;
  };
}

async function startHttp(
  { listen, log, keys }: AppOptions,
  sources: ViewSources,
  reload: AppReload,
  stack: AsyncDisposableStack,
): Promise<Opened<RunningServer>> {
  const { clock, fleet, ledger } = sources;
  const { web } = reload.config;
  const { host, port } = listen ?? web.listen;
  const files = readOpenFiles();
  warnOfOpenFiles(files, reload.config.upstreams.length, log);
  const server = await startServer({
    host,
    port,
    allowedHosts: () => hostsToAllow(reload.config.web.allowedHosts, host),
    probes: web.probeListen,
    webConfig: web.configFile === undefined ? undefined : new WebConfigFile(web.configFile),
    status: () => statusView(sources),
    columns: (upstream, range) => columnsInFile(sources, upstream, range),
    report: reportFrom(sources),
    metrics: (format) => scrape(() => metricsView(sources), format),
    config: () => reload.shown,
    reload: () => reload.run("asked"),
    resume: (budget) => {
      const isKnown = ledger.resume(budget);
      if (isKnown) log.warn({ budget }, "budget resumed by POST /-/resume");
      return isKnown;
    },
    lifecycleEnabled: () => reload.config.web.enableLifecycle,
    badgesEnabled: () => reload.config.web.badges,
    fleet: async () => fleet?.status(),
    ready: () => sources.isReady(),
    connectionsLeft: () => connectionsLeft(files, reload.config.upstreams.length),
    clock,
    threadOf: (thread) => new Thread(thread),
    onWebConfigChange: (changes) => log.info({ changes }, "web config changed"),
    onWarning: (message) => log.warn({}, keys.hide(message)),
  });
  if (server.kind === "opened") stack.use(server.what);
  return server;
}

/** Of upstreams that are in the running config. */
function reportFrom({ clock, reload, store }: ViewSources): RoutesDeps["report"] {
  if (store === undefined) return undefined;
  return ({ upstreams, asked, format }) => {
    const { state, upstreams: all } = reload.config;
    const wanted = new Set(upstreams);
    const reported = all.filter(({ name }) => wanted.has(name)).map(reportedOf);
    const paths = state === undefined ? [] : [state.path];
    const question = { paths, upstreams: reported, asked, format, nowMs: clock.wallNow() };
    return askOnce("report", new URL("./report-worker.ts", import.meta.url), question);
  };
}

function warnOfOpenFiles(files: OpenFiles | undefined, upstreams: number, log: Logger): void {
  const needed = limitNeeded(files, upstreams, DEFAULT_SERVER_LIMITS.maxConnections);
  if (needed === undefined) return;
  log.warn(
    { limit: files?.limit, needed, connections: connectionsLeft(files, upstreams) },
    "the limit of open files (ulimit -n) is too low for this config: fewer connections are accepted, so that polls go on",
  );
}

function recordsOf({ budgets }: Config, ledger: RunningLedger): ReadonlyMap<string, BudgetRecord> {
  return new Map(budgets.map(({ name }) => [name, ledger.record(name) ?? NOTHING_HELD]));
}

export type App = {
  readonly url: string;
  reload(): Promise<ReloadResult>;
  /** For what stops the event loop. */
  quietMoment(signal: AbortSignal): Promise<void>;
  /** No new polls. Those in flight may end, and the metrics are served until then. */
  stop(): Promise<void>;
};

export type AppOptions = {
  readonly configPath: string;
  /** In place of the config's own address. */
  readonly listen: Address | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Called with the variables that hold a secret: the process itself no longer needs them. */
  readonly withdraw: (variables: readonly string[]) => void;
  readonly keys: KnownKeys;
  readonly log: Logger;
};
