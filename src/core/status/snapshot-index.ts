import type { BudgetStatus, StatusSnapshot, UpstreamStatus } from "./status.ts";

const indexes = new WeakMap<StatusSnapshot, SnapshotIndex>();

export function snapshotIndex(snapshot: StatusSnapshot): SnapshotIndex {
  const index = indexes.get(snapshot) ?? new SnapshotIndex(snapshot);
  indexes.set(snapshot, index);
  return index;
}

type Answered = { readonly name: string; readonly host: string; readonly atMs: number };

/**
 * What the other upstreams tell about one of them. Computed once for each snapshot: when thousands are down, thousands
 * are judged.
 */
class SnapshotIndex {
  readonly #snapshot: StatusSnapshot;
  #budgets: ReadonlyMap<string, BudgetStatus> | undefined;
  #answered: readonly Answered[] | undefined;
  #hosts: ReadonlySet<string> | undefined;
  #hostsNotSlow: ReadonlySet<string> | undefined;

  constructor(snapshot: StatusSnapshot) {
    this.#snapshot = snapshot;
  }

  budget(name: string): BudgetStatus | undefined {
    this.#budgets ??= new Map(this.#snapshot.budgets.map((budget) => [budget.name, budget]));
    return this.#budgets.get(name);
  }

  /** The name of an upstream on another host that has answered since then. An error status is an answer too. */
  answeredElsewhere(host: string, sinceMs: number): string | undefined {
    this.#answered ??= this.#snapshot.upstreams.flatMap(({ name, url, lastPoll: newest }) => {
      return newest?.status === undefined ? [] : [{ name, host: hostOf(url), atMs: newest.atMs }];
    });
    return this.#answered.find((other) => other.host !== host && other.atMs >= sinceMs)?.name;
  }

  /** There are other hosts than this one, and all of them are slow. */
  areAllOthersSlow(host: string): boolean {
    const { upstreams } = this.#snapshot;
    this.#hosts ??= hostsOf(upstreams);
    this.#hostsNotSlow ??= hostsOf(upstreams.filter(({ health }) => health.state !== "degraded"));
    return hasOtherThan(this.#hosts, host) && !hasOtherThan(this.#hostsNotSlow, host);
  }
}

export function hostOf(url: string): string {
  return /^\w+:\/\/([^/]*)/.exec(url)?.[1] ?? url;
}

function hostsOf(upstreams: readonly UpstreamStatus[]): ReadonlySet<string> {
  return new Set(upstreams.map(({ url }) => hostOf(url)));
}

function hasOtherThan(hosts: ReadonlySet<string>, host: string): boolean {
  return hosts.size > (hosts.has(host) ? 1 : 0);
}
