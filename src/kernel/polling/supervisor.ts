import type { Config, Upstream } from "../config/config.ts";
import { UNKNOWN_HEALTH, type Health } from "../poll/health.ts";
import type { Triggers } from "../schedule/triggers.ts";
import type { Probe, Recorder } from "../poll/ports.ts";
import { LeaseQueue } from "./lease-queue.ts";
import { Poller, type PollingDeps } from "./poller.ts";
import { Timetable } from "./timetable.ts";

/** On shutdown, polls in flight get at most this long. */
const DRAIN_AT_MOST_MS = 10_000;

export type SupervisorDeps = PollingDeps & {
  readonly triggers: Triggers;
  /** The same recorder for the same upstream, across reloads. */
  readonly recorderOf: (upstream: Upstream) => Recorder;
  /** With which an upstream begins that an earlier process has polled. */
  readonly healthOf?: ((upstream: string) => Health | undefined) | undefined;
};

/** Owns the pollers: starts, changes and drains them, and passes each its slots. */
export class Supervisor {
  /** In which every request of this process waits for its lease. */
  readonly queue: LeaseQueue;
  readonly #deps: SupervisorDeps;
  readonly #timetable: Timetable;
  readonly #pollers = new Map<string, Poller>();
  readonly #leaving = new Set<Promise<void>>();

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    this.queue = new LeaseQueue(deps.ledger, deps.clock, deps.onBug);
    this.#timetable = new Timetable(deps.clock, deps.triggers, {
      onSlot: (name, atMs) => this.#pollers.get(name)?.slot("schedule", atMs),
      onMissed: (name, count) => this.#pollers.get(name)?.missed(count),
      onBug: deps.onBug,
    });
  }

  /** `probes` has one for each new or changed upstream; the others keep theirs. */
  apply(config: Config, probes: ReadonlyMap<string, Probe>): void {
    const names = new Set(config.upstreams.map((upstream) => upstream.name));
    for (const [name, poller] of this.#pollers) {
      if (names.has(name)) continue;
      this.#pollers.delete(name);
      void this.#leave(poller.stop(graceOf(poller)));
    }
    const added: Poller[] = [];
    for (const upstream of config.upstreams) {
      const poller = this.#pollers.get(upstream.name);
      const probe = probes.get(upstream.name);
      if (probe === undefined) continue;
      if (poller === undefined) added.push(this.#add(upstream, probe));
      else void this.#leave(poller.reconfigure(upstream, probe));
    }
    this.#timetable.set(config.upstreams);
    // A new one is polled before its first slot. The pace of their budgets spreads them.
    for (const poller of added)
      if (poller.target.isPolledBetweenSlots) poller.slot("first", this.#deps.clock.now());
  }

  healthOf(upstream: string): Health {
    return this.#pollers.get(upstream)?.health ?? UNKNOWN_HEALTH;
  }

  owedSinceMs(upstream: string): number | undefined {
    return this.#pollers.get(upstream)?.owedSinceMs;
  }

  /** Wall clock. */
  nextSlotAtMs({ name, schedule }: Upstream): number | undefined {
    return this.#timetable.nextSlotAtMs(name, schedule);
  }

  async drain(): Promise<void> {
    this.#timetable.stop();
    const pollers = [...this.#pollers.values()];
    await Promise.all(pollers.map((poller) => poller.stop(graceOf(poller))));
    await Promise.all(this.#leaving);
  }

  #add(upstream: Upstream, probe: Probe): Poller {
    const poller = new Poller(upstream, probe, {
      ...this.#deps,
      stoodStill: (sinceMs) => this.#timetable.stoodStill(sinceMs),
      queue: this.queue,
      recorder: this.#deps.recorderOf(upstream),
      health: this.#deps.healthOf?.(upstream.name),
    });
    this.#pollers.set(upstream.name, poller);
    return poller;
  }

  #leave(ending: Promise<void>): Promise<void> {
    const left = ending.catch(this.#deps.onBug).finally(() => this.#leaving.delete(left));
    this.#leaving.add(left);
    return left;
  }
}

function graceOf({ target }: Poller): number {
  return Math.min(target.upstream.timeoutMs, DRAIN_AT_MOST_MS);
}
