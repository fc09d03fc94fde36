import type { Config } from "../../../../src/core/config/config.ts";
import type { Gained } from "../../../../src/engine/fleet/parts.ts";
import type { Probe } from "../../../../src/core/poll/ports.ts";
import type { Clock } from "../../../../src/core/time/clock.ts";
import { cronOf } from "../../../../src/core/schedule/schedule.ts";
import type { Supervisor } from "../../../../src/engine/poll/supervisor.ts";

export type ReplicaPollingParts = {
  readonly config: Config;
  readonly clock: Clock;
  readonly supervisor: Supervisor;
  readonly probeFor: (upstream: Config["upstreams"][number]) => Probe;
};

/** As the app does it: what the fleet gives and takes is polled, and polled no more. */
export class ReplicaPolling {
  readonly #parts: ReplicaPollingParts;
  readonly #held = new Set<string>();

  constructor(parts: ReplicaPollingParts) {
    this.#parts = parts;
  }

  get held(): ReadonlySet<string> {
    return this.#held;
  }

  everything(): void {
    this.#begin(this.#parts.config.upstreams.map(({ name }) => name));
  }

  gain(gained: readonly Gained[]): void {
    this.#begin(gained.map(({ upstream }) => upstream));
    const { config, clock, supervisor } = this.#parts;
    const nowMs = clock.wallNow();
    const unheldMs = new Map(gained.map((each) => [each.upstream, each.unheldMs]));
    for (const { name, schedule } of config.upstreams) {
      const forMs = unheldMs.get(name);
      const missed = forMs === undefined ? 0 : cronOf(schedule).countBetween(nowMs - forMs, nowMs);
      if (missed > 0) supervisor.missed(name, missed);
    }
  }

  async drop(upstreams: readonly string[], how: "drain" | "cut off"): Promise<void> {
    for (const upstream of upstreams) this.#held.delete(upstream);
    await this.#parts.supervisor.drop(upstreams, how);
  }

  #begin(names: readonly string[]): void {
    const { config, supervisor, probeFor } = this.#parts;
    const begun = new Set(names.filter((name) => !this.#held.has(name)));
    for (const name of begun) this.#held.add(name);
    const upstreams = config.upstreams.filter(({ name }) => this.#held.has(name));
    const fresh = upstreams.filter(({ name }) => begun.has(name));
    supervisor.apply({ ...config, upstreams }, new Map(fresh.map((each) => [each.name, probeFor(each)])));
  }
}
