import { Thread } from "../platform/thread.ts";
import { systemClock } from "../platform/clock.ts";
import { openStateStore } from "../features/state/store.ts";
import type { Logger } from "../features/log/logger.ts";
import { NameResolver } from "../transport/dns/name-resolver.ts";
import { formats } from "../exposition/formats.ts";
import { scrape } from "../exposition/metrics.ts";
import { METRICS } from "./features/metrics.ts";
import { sendersOf } from "./features/proof.ts";
import type { KnownKeys } from "../transport/secrets/known-keys.ts";
import type { AppFleet } from "../features/fleet/fleet.ts";
import { routesOf } from "./features/routes.ts";
import { PAGE_STYLE_HASH } from "../features/page/shell.ts";
import { createLife, type Life } from "./life.ts";
import { connectionsLeft, limitNeeded, type OpenFiles, readOpenFiles } from "./open-files.ts";
import { quietMoment } from "./quiet-moment.ts";
import { AppReload, type LoadedConfig } from "./reload.ts";
import { columnsInFile, metricsView, statusView, type ViewSources } from "./views.ts";
import { WebConfigFile } from "../config/web/file.ts";
import { ConfigWatch, type WatchCause } from "../config/watch.ts";
import type { Address, Config } from "../kernel/config/config.ts";
import type { Opened } from "../platform/opened.ts";
import type { StateStore } from "../features/history/state.ts";
import type { Reign } from "../features/fleet/lead/reign.ts";
import { stackOf } from "../kernel/text/escape.ts";
import type { Clock } from "../kernel/time/clock.ts";
import { MINUTE_MS } from "../kernel/time/duration.ts";
import { hostsToAllow } from "../http/guards/request-checks.ts";
import type { ReloadResult } from "../http/routes/routes.ts";
import { DEFAULT_SERVER_LIMITS } from "../http/server/limits.ts";
import { type RunningServer, startServer } from "../http/server/server.ts";

/** Their URL is one that a browser on this machine can open. */
const WILDCARD_HOSTS: ReadonlySet<string> = new Set(["", "0.0.0.0", "::"]);

/** Builds all but the config, which comes first. `stack` closes in reverse what is opened here. */
export async function build(
  loaded: LoadedConfig,
  firstStore: StateStore | undefined,
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

  let life: Life | undefined;
  let fleet: AppFleet | undefined;
  const reload = new AppReload(loaded, {
    ...parts,
    life: () => life,
    onChanged: (changed) => life?.changed(changed),
  });
  let isStarted = false;
  const isReady = (): boolean => isStarted && !stopping.signal.aborted;
  const sources: ViewSources = {
    clock,
    startedAtMs: startOf(clock),
    life: () => (fleet?.snapshot.isLeading === false ? undefined : life),
    fleet: () => fleet,
    reload,
    isReady,
  };
  const serving = await startHttp(options, sources, reload, stack);
  if (serving.kind === "refused") return serving;
  const server = serving.what;
  const begin = async (
    reign: Reign | undefined,
    store: StateStore | undefined,
  ): Promise<Opened<undefined>> => {
    life = createLife(reload.config, { ...parts, reign, store, reload, status: () => statusView(sources) });
    return life.start();
  };
  const end = async (): Promise<void> => {
    await life?.[Symbol.asyncDispose]();
    life = undefined;
  };
  if (config.fleet === undefined) {
    stack.defer(() => life?.[Symbol.asyncDispose]());
    const begun = await begin(undefined, firstStore);
    if (begun.kind === "refused") return begun;
  } else {
    // It was opened to see that it can be: each reign reads it anew.
    await firstStore?.close();
    const { openFleet } = await import("../features/fleet/fleet.ts");
    const inTurn = (act: () => Promise<unknown>): void => void reload.exclusively(act).catch(onBug);
    const lead = async (reign: Reign): Promise<void> => {
      const store = await openAgain(reload.config, log);
      if (reign.maySend()) await begin(reign, store);
      else await store?.close();
    };
    const opened = await openFleet(
      config,
      config.fleet,
      {
        ...parts,
        config: () => reload.config,
        sendersOf,
        onLead: (reign) => inTurn(() => lead(reign)),
        onLost: () => inTurn(end),
      },
      stack,
    );
    if (opened.kind === "refused") return opened;
    fleet = opened.what;
    stack.defer(async () => {
      const drained = life === undefined ? Promise.resolve(new Map<string, number>()) : life.drain();
      await opened.what.stop(drained);
      await end();
    });
  }
  stack.use(reload);
  const watching = {
    clock,
    last: () => reload.last,
    reload: (cause: WatchCause) => reload.run(cause),
    onError: onBug,
  };
  stack.use(new ConfigWatch(configPath, watching, stopping.signal));
  stack.defer(() => stopping.abort());
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
        quietMoment({
          upstreams: config.upstreams.length,
          inFlight: () => life?.polling.inFlight ?? 0,
          clock,
          signal,
        }),
      stop: () => owned.disposeAsync(),
    },
  };
}

/** Whoever leads polls also without its history. */
async function openAgain({ state }: Config, log: Logger): Promise<StateStore | undefined> {
  if (state === undefined) return undefined;
  const opened = await openStateStore({ path: state.path, clock: systemClock, log });
  if (opened.kind === "opened") return opened.what;
  log.error({ faults: opened.faults }, "cannot open the state file: leading without it");
  return undefined;
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
  const { clock } = sources;
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
    features: routesOf({
      status: () => statusView(sources),
      columns: (upstream, range) => columnsInFile(sources, upstream, range),
      shown: () => reload.shown,
      config: () => reload.config,
    }),
    styleHash: PAGE_STYLE_HASH,
    metrics: formats((format) => scrape(METRICS, () => metricsView(sources), format)),
    reload: () => reload.run("asked"),
    resume: (budget) => {
      const isKnown = sources.life()?.budgets.hints.resume(budget) ?? false;
      if (isKnown) log.warn({ budget }, "budget resumed by POST /-/resume");
      return isKnown;
    },
    lifecycleEnabled: () => reload.config.web.enableLifecycle,
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

function warnOfOpenFiles(files: OpenFiles | undefined, upstreams: number, log: Logger): void {
  const needed = limitNeeded(files, upstreams, DEFAULT_SERVER_LIMITS.maxConnections);
  if (needed === undefined) return;
  log.warn(
    { limit: files?.limit, needed, connections: connectionsLeft(files, upstreams) },
    "the limit of open files (ulimit -n) is too low for this config: fewer connections are accepted, so that polls go on",
  );
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
