import { systemClock } from "./adapters/clock.ts";
import { cronTriggers } from "./adapters/cron.ts";
import { createMetrics } from "./adapters/prometheus.ts";
import { parseStructuredList } from "./adapters/structured-headers.ts";
import type { FleetParts, OpenedLedger } from "./app-fleet.ts";
import { AppMembership } from "./app-membership.ts";
import { AppPolling } from "./app-polling.ts";
import { AppReload } from "./app-reload.ts";
import type { AppOptions, Start } from "./app.ts";
import { quotaReadings } from "./app-state.ts";
import { fleetViews, metricsView, statusView, type Sights } from "./app-views.ts";
import { AppWatches } from "./app-watches.ts";
import { describeConfig } from "./config/describe.ts";
import { ConfigWatch } from "./config/watch.ts";
import type { Config } from "./core/config.ts";
import type { StateStore } from "./core/state.ts";
import { messageOf, stackOf } from "./core/error-text.ts";
import { LocalLedger } from "./core/local-ledger.ts";
import { RedisAccount } from "./core/redis-account.ts";
import { Supervisor } from "./engine/supervisor.ts";
import { TellingLedger } from "./engine/telling-ledger.ts";
import { hostsToAllow } from "./http/host-check.ts";
import { startServer, type RunningServer } from "./http/server.ts";

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
  const watches = new AppWatches(clock, log, store);
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
    ledger: new TellingLedger(ledger, log),
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
  const sights: Sights = {
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
  const server = await openDoor(options, reload, sights, stack);
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
  const { openFleet } = await import("./app-fleet.ts");
  return openFleet(config, config.fleet, parts, stack);
}

/** The server, or one sentence why there is none. */
async function openDoor(
  { listen, log, keys }: AppOptions,
  reload: AppReload,
  sights: Sights,
  stack: AsyncDisposableStack,
): Promise<RunningServer | string> {
  const metrics = stack.use(
    createMetrics(
      () => metricsView(sights),
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
      status: () => statusView(sights),
      metrics: (isGzipWelcome) => metrics.render(isGzipWelcome),
      config: () => describeConfig(reload.config),
      reload: () => reload.run(),
      get lifecycleEnabled() {
        return reload.config.web.enableLifecycle;
      },
      fleet: () => sights.fleetStatus(),
      ready: () => sights.isReady(),
      onWarning: (message) => log.warn({}, message),
    });
  } catch (error) {
    return messageOf(error);
  }
}
