import type { FailureReason } from "../exchange/outcome.ts";
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
  #isOffline: boolean | undefined;
  #budgets: ReadonlyMap<string, BudgetStatus> | undefined;
  #answered: readonly Answered[] | undefined;
  #hosts: ReadonlySet<string> | undefined;
  #hostsNotSlow: ReadonlySet<string> | undefined;

  constructor(snapshot: StatusSnapshot) {
    this.#snapshot = snapshot;
  }

  /** At least two hosts were polled, and no upstream could be reached. */
  get isOffline(): boolean {
    return (this.#isOffline ??= isOffline(this.#snapshot));
  }

  budget(name: string): BudgetStatus | undefined {
    this.#budgets ??= new Map(this.#snapshot.budgets.map((budget) => [budget.name, budget]));
    return this.#budgets.get(name);
  }

  /** The name of an upstream on another host that has answered since then. An error status is an answer too. */
  answeredElsewhere(host: string, sinceMs: number): string | undefined {
    this.#answered ??= this.#snapshot.upstreams.flatMap(({ name, url, lastPolls }) => {
      const newest = lastPolls.at(-1);
      return newest?.status === undefined ? [] : [{ name, host: hostOf(url), atMs: newest.atMs }];
    });
    return this.#answered.find((other) => other.host !== host && other.atMs > sinceMs)?.name;
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

/** Failures that our own network can cause. */
const NETWORK_FAILURES: ReadonlySet<string> = new Set<FailureReason>(["dns", "connect", "timeout"]);

/** For so long after the start, and one period, an upstream that was not polled may still show that we are online. */
const FIRST_POLL_WITHIN_MS = 30_000;
const LONGEST_AWAITED_MS = 60_000;

function isOffline({ upstreams, startedAtMs, nowMs }: StatusSnapshot): boolean {
  // Polls from before a restart say nothing about the network now.
  const isPolled = ({ lastPolls }: UpstreamStatus): boolean => (lastPolls.at(-1)?.atMs ?? -1) >= startedAtMs;
  const isAwaited = ({ schedule }: UpstreamStatus): boolean =>
    nowMs - startedAtMs < Math.min(schedule.longestGapMs, LONGEST_AWAITED_MS) + FIRST_POLL_WITHIN_MS;
  // Without a token the upstream itself was not asked.
  const polled = upstreams.filter(
    (upstream) => isPolled(upstream) && upstream.lastPolls.at(-1)?.reason !== "auth",
  );
  if (upstreams.some((upstream) => !isPolled(upstream) && isAwaited(upstream))) return false;
  return (
    hostsOf(polled).size >= 2 &&
    polled.every(({ lastPolls }) => NETWORK_FAILURES.has(lastPolls.at(-1)?.reason ?? ""))
  );
}

function hostsOf(upstreams: readonly UpstreamStatus[]): ReadonlySet<string> {
  return new Set(upstreams.map(({ url }) => hostOf(url)));
}

function hasOtherThan(hosts: ReadonlySet<string>, host: string): boolean {
  return hosts.size > (hosts.has(host) ? 1 : 0);
}
