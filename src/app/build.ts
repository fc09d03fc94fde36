import { USER_AGENT } from "../version.ts";
import { systemClock } from "../platform/clock.ts";
import { collectStartGarbage } from "../platform/collect-garbage.ts";
import type { Logger } from "../features/log/logger.ts";
import { NameResolver } from "../transport/dns/name-resolver.ts";
import { formats } from "../exposition/formats.ts";
import { scrape } from "../exposition/exposition.ts";
import { METRICS } from "./features/shown.ts";
import type { KnownKeys } from "../transport/secrets/known-keys.ts";
import { routesOf } from "./features/routes.ts";
import { PAGE_STYLE_HASH } from "../http/markup/html-start.ts";
import { Lives } from "./lives.ts";
import { loadInThread } from "./load-thread.ts";
import { connectionsLeft, limitNeeded, type OpenFiles, readOpenFiles } from "./open-files.ts";
import { AppReload, type LoadedConfig } from "./reload.ts";
import { columnsInFile, metricsView, statusView, type ViewSources } from "./views.ts";
import { WebConfigFile } from "../config/web/file.ts";
import { watchConfig, type WatchCause } from "../config/watch.ts";
import type { Address } from "../kernel/config/config.ts";
import type { Opened } from "../platform/opened.ts";
import type { StateStore } from "../features/history/state.ts";
import { stackOf } from "../kernel/text/escape.ts";
import type { Clock } from "../kernel/time/clock.ts";
import { MINUTE_MS } from "../kernel/time/duration.ts";
import { hostsToAllow } from "../http/guards/request-checks.ts";
import type { ReloadResult } from "../http/routes/routes.ts";
import { DEFAULT_SERVER_LIMITS } from "../http/server/limits.ts";
import { type RunningServer, startServer } from "../http/server/server.ts";

/** Their URL is one that a browser on this machine can open. */
const WILDCARD_HOSTS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

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
  const parts = { ...options, clock, names, userAgent: USER_AGENT, onBug, stopping: stopping.signal };

  const lives = new Lives(parts);
  const reload = new AppReload(loaded, {
    ...parts,
    load: loadInThread,
    life: () => lives.life,
    onChanged: (changed) => lives.life?.changed(changed),
  });
  let isStarted = false;
  const isReady = (): boolean => isStarted && !stopping.signal.aborted;
  const sources: ViewSources = {
    clock,
    startedAtMs: startOf(clock),
    life: () => (lives.lead?.status.isLeading === false ? undefined : lives.life),
    lead: () => lives.lead,
    reload,
    isReady,
  };
  const serving = await startHttp(options, sources, reload, stack);
  if (serving.kind === "refused") return serving;
  const server = serving.what;
  stack.use(lives);
  collectStartGarbage();
  const begun = await lives.open(reload, () => statusView(sources), firstStore);
  if (begun.kind === "refused") return begun;
  stack.use(reload);
  const watching = {
    clock,
    last: () => reload.last,
    reload: (cause: WatchCause) => reload.run(cause),
    onError: onBug,
  };
  stack.use(watchConfig(configPath, watching, stopping.signal));
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
      stop: () => owned.disposeAsync(),
    },
  };
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
    onWebConfigChange: (changes) => log.info({ changes }, "web config changed"),
    onWarning: (message) => log.warn({}, keys.hide(message)),
  });
  if (server.kind === "opened") stack.use(server.what);
  return server;
}

function warnOfOpenFiles(files: OpenFiles, upstreams: number, log: Logger): void {
  const needed = limitNeeded(files, upstreams, DEFAULT_SERVER_LIMITS.maxConnections);
  if (needed === undefined) return;
  log.warn(
    { limit: files.limit, needed, connections: connectionsLeft(files, upstreams) },
    "the limit of open files (ulimit -n) is too low for this config: fewer connections are accepted, so that polls go on",
  );
}

export type App = {
  readonly url: string;
  reload(): Promise<ReloadResult>;
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
