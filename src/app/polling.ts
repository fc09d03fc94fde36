import { setImmediate as nextTurn } from "node:timers/promises";
import {
  faultsOfKeys,
  type OpenedInPart,
  type OpenedProbes,
  openInPart,
  openProbes,
  type ProbeParts,
  upstreamsToOpen,
} from "./probes.ts";
import type { Config } from "../core/config/config.ts";
import type { Claimed } from "../core/fleet/board.ts";
import type { Probe } from "../core/poll/ports.ts";
import type { Clock } from "../core/time/clock.ts";
import { slotsBetween } from "../core/schedule/schedule.ts";
import type { Supervisor } from "../engine/poll/supervisor.ts";
import { type Logger, LogRecorder } from "../adapters/log/logger.ts";
import { History } from "../core/history/history.ts";
import type { StateStore } from "../core/history/state.ts";
import { UpstreamRecord } from "../core/history/upstream-record.ts";

export type PollingParts = ProbeParts & {
  readonly supervisor: Supervisor;
  readonly watches: UpstreamRecords;
  /** Whether this replica is sure that it may poll it now. */
  readonly holds: (upstream: string) => boolean;
  /** Whether it polls only what it was given. */
  readonly isSharded: boolean;
};

const TRY_AGAIN_MS = 5_000;

/** Which upstreams of the config are polled here: all of them, or those that the fleet gives this replica. */
export class AppPolling {
  readonly #parts: PollingParts;
  readonly #held = new Set<string>();
  readonly #ended = new AbortController();
  #config: Config;
  /** What the supervisor was given. */
  #applied: Config;
  /** One after the other: a reload, and what the fleet gives. What it takes away waits for nobody. */
  #turn: Promise<unknown> = Promise.resolve();

  /** Nothing is polled until the first `apply` or `gain`. */
  constructor(config: Config, parts: PollingParts) {
    this.#config = config;
    this.#applied = { ...config, upstreams: [] };
    this.#parts = parts;
  }

  /** The config, with only those upstreams in it that are polled here. */
  get applied(): Config {
    return this.#applied;
  }

  exclusively<Result>(act: () => Promise<Result>): Promise<Result> {
    const turn = this.#turn.then(act);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** Probes for what is polled here and is new in this config. Keys must be there for all: any may be given to us. */
  async open(config: Config): Promise<OpenedProbes> {
    const faults = this.#parts.isSharded ? await faultsOfKeys(config.upstreams, this.#parts) : [];
    if (faults.length > 0) return { kind: "refused", faults };
    const opened = await openProbes(upstreamsToOpen(this.#partOf(config), this.#applied), this.#parts);
    return opened.kind === "refused" ? opened : { ...opened, probes: this.#guarded(opened.probes) };
  }

  /** At once, with the probes that were opened for it. */
  apply(config: Config, probes: ReadonlyMap<string, Probe>): void {
    this.#config = config;
    const known = new Set(this.#applied.upstreams.map(({ name }) => name));
    const part = this.#partOf(config);
    const polled = part.upstreams.filter(({ name }) => known.has(name) || probes.has(name));
    const names = new Set(polled.map(({ name }) => name));
    // Lost while its probe was opened.
    for (const [name, probe] of probes) if (!names.has(name)) void probe.close();
    this.#applied = { ...config, upstreams: polled };
    this.#parts.supervisor.apply(this.#applied, probes);
    this.#parts.watches.keepOnly(this.#applied);
  }

  /** Resolves when they are polled; meanwhile others may be lost again. */
  gain(gained: readonly Claimed[]): Promise<void> {
    for (const { upstream } of gained) this.#held.add(upstream);
    return this.exclusively(async () => {
      // Thousands come in batches: others get their turn between them.
      await nextTurn();
      const wanted = upstreamsToOpen(this.#partOf(this.#config), this.#applied);
      const { probes, faults } = await openInPart(wanted, this.#parts);
      if (this.#ended.signal.aborted) return closeAll(probes);
      this.apply(this.#config, this.#guarded(probes));
      this.#countMissed(gained);
      if (faults.length > 0) void this.#tryAgain(faults);
    });
  }

  /** At once: what is on its way is cut off. */
  lose(upstreams: readonly string[]): void {
    void this.#drop(upstreams, "cut off");
  }

  /** Resolves when the last of their polls is over. */
  async drain(upstreams: readonly string[]): Promise<void> {
    await this.#drop(upstreams, "drain");
  }

  /** What is polled stays; nothing new comes. */
  async stop(): Promise<void> {
    this.#ended.abort();
    await this.#turn;
  }

  async #drop(upstreams: readonly string[], how: "drain" | "cut off"): Promise<void> {
    const { supervisor, watches } = this.#parts;
    for (const upstream of upstreams) this.#held.delete(upstream);
    const part = this.#partOf(this.#applied);
    this.#applied = part;
    await supervisor.drop(upstreams, how);
    // Their series end with their last poll. What was gained back meanwhile goes on.
    watches.keepOnly(this.#applied);
  }

  #partOf(config: Config): Config {
    if (!this.#parts.isSharded) return config;
    return { ...config, upstreams: config.upstreams.filter(({ name }) => this.#held.has(name)) };
  }

  /** A process that stood still asks anew before it writes: by then somebody else may poll. */
  #guarded(probes: ReadonlyMap<string, Probe>): ReadonlyMap<string, Probe> {
    const { holds, isSharded } = this.#parts;
    if (!isSharded) return probes;
    return new Map([...probes].map(([name, probe]) => [name, guardedProbe(probe, () => holds(name))]));
  }

  #countMissed(gained: readonly Claimed[]): void {
    const nowMs = this.#parts.clock.wallNow();
    const schedules = new Map(this.#applied.upstreams.map(({ name, schedule }) => [name, schedule]));
    for (const { upstream, unheldMs } of gained) {
      const schedule = schedules.get(upstream);
      if (schedule === undefined || unheldMs === undefined) continue;
      const missed = slotsBetween(schedule, nowMs - unheldMs, nowMs);
      if (missed > 0) this.#parts.supervisor.missed(upstream, missed);
    }
  }

  /** A key that cannot be read now keeps nothing else from being polled. */
  async #tryAgain(faults: OpenedInPart["faults"]): Promise<void> {
    const { log, clock } = this.#parts;
    log.error(
      { faults: faults.map(({ fault }) => fault) },
      "cannot poll all that the fleet gave; trying again",
    );
    const { signal } = this.#ended;
    await clock.sleep(TRY_AGAIN_MS, signal);
    const still = faults.filter(({ upstream }) => this.#held.has(upstream));
    if (signal.aborted || still.length === 0) return;
    await this.gain(still.map(({ upstream }) => ({ upstream, unheldMs: undefined })));
  }
}

async function closeAll(probes: ReadonlyMap<string, Probe>): Promise<void> {
  await Promise.all([...probes.values()].map((probe) => probe.close()));
}

function guardedProbe(probe: Probe, holds: () => boolean): Probe {
  return {
    poll: (signal, mayWrite) => probe.poll(signal, () => holds() && (mayWrite?.() ?? true)),
    close: () => probe.close(),
  };
}

/** What is kept of each upstream: it comes with the first look at it, and goes when it leaves the config. */
export class UpstreamRecords {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #store: StateStore | undefined;
  readonly #watches = new Map<string, UpstreamRecord>();

  /** Without a store, history begins and ends with the process. */
  constructor(clock: Clock, log: Logger, store?: StateStore) {
    this.#clock = clock;
    this.#log = log;
    this.#store = store;
  }

  find(name: string): UpstreamRecord | undefined {
    return this.#watches.get(name);
  }

  of(name: string): UpstreamRecord {
    const known = this.#watches.get(name);
    if (known !== undefined) return known;
    const history = new History(name, this.#clock.wallNow(), this.#store?.restored(name));
    const saving = this.#store === undefined ? [] : [this.#store.recorderOf(name, history)];
    const watch = new UpstreamRecord(history, [new LogRecorder(this.#log, name), ...saving]);
    this.#watches.set(name, watch);
    return watch;
  }

  keepOnly(config: Config): void {
    const names = new Set(config.upstreams.map((upstream) => upstream.name));
    for (const name of this.#watches.keys()) if (!names.has(name)) this.#watches.delete(name);
  }
}
