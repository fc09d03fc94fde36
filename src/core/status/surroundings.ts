import type { FailureReason } from "../exchange/outcome.ts";
import type { BudgetStatus, StatusSnapshot, UpstreamStatus } from "./status.ts";

/** Failures that our own network can cause without any fault of theirs. */
const ON_THE_WAY: ReadonlySet<string> = new Set<FailureReason>(["dns", "connect", "timeout"]);

type Witness = { readonly name: string; readonly host: string; readonly answeredAtMs: number };

/**
 * What is to be known of all upstreams to judge one of them. Worked out once for each snapshot: where thousands are
 * down, thousands are judged.
 */
class Surroundings {
  readonly #snapshot: StatusSnapshot;
  #isOffline: boolean | undefined;
  #budgets: ReadonlyMap<string, BudgetStatus> | undefined;
  #witnesses: readonly Witness[] | undefined;
  #hosts: ReadonlySet<string> | undefined;
  #hostsNotSlow: ReadonlySet<string> | undefined;

  constructor(snapshot: StatusSnapshot) {
    this.#snapshot = snapshot;
  }

  /** All that were looked at fail before they answer, and there are at least two of them. */
  get isOffline(): boolean {
    return (this.#isOffline ??= isOffline(this.#snapshot));
  }

  budget(name: string): BudgetStatus | undefined {
    this.#budgets ??= new Map(this.#snapshot.budgets.map((budget) => [budget.name, budget]));
    return this.#budgets.get(name);
  }

  /** The first of another host that has answered since then, if with a refusal. */
  witness(host: string, sinceMs: number): Witness | undefined {
    this.#witnesses ??= this.#snapshot.upstreams.flatMap(({ name, url, lastPolls }) => {
      const newest = lastPolls.at(-1);
      return newest?.status === undefined ? [] : [{ name, host: hostOf(url), answeredAtMs: newest.atMs }];
    });
    return this.#witnesses.find((other) => other.host !== host && other.answeredAtMs > sinceMs);
  }

  /** There are other hosts than this one, and all of them are slow. */
  areAllOthersSlow(host: string): boolean {
    this.#hosts ??= hostsOf(this.#snapshot.upstreams);
    this.#hostsNotSlow ??= hostsOf(
      this.#snapshot.upstreams.filter(({ health }) => health.state !== "degraded"),
    );
    return hasOtherThan(this.#hosts, host) && !hasOtherThan(this.#hostsNotSlow, host);
  }
}

const known = new WeakMap<StatusSnapshot, Surroundings>();

export function surroundingsIn(snapshot: StatusSnapshot): Surroundings {
  const before = known.get(snapshot);
  if (before !== undefined) return before;
  const surroundings = new Surroundings(snapshot);
  known.set(snapshot, surroundings);
  return surroundings;
}

export function hostOf(url: string): string {
  return /^\w+:\/\/([^/]*)/.exec(url)?.[1] ?? url;
}

function isOffline({ upstreams, startedAtMs }: StatusSnapshot): boolean {
  // What a former life saw is no witness of now.
  const seen = upstreams.filter(({ lastPolls }) => (lastPolls.at(-1)?.atMs ?? -1) >= startedAtMs);
  return hostsOf(seen).size >= 2 && seen.every(failsOnTheWay);
}

function failsOnTheWay({ lastPolls }: UpstreamStatus): boolean {
  return ON_THE_WAY.has(lastPolls.at(-1)?.reason ?? "");
}

function hostsOf(upstreams: readonly UpstreamStatus[]): ReadonlySet<string> {
  return new Set(upstreams.map(({ url }) => hostOf(url)));
}

function hasOtherThan(hosts: ReadonlySet<string>, host: string): boolean {
  return hosts.size > (hosts.has(host) ? 1 : 0);
}
