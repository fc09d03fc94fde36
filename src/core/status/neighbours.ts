import type { Status, UpstreamSummary } from "./status.ts";

/** What the other upstreams tell about one of them. */
type Neighbours = {
  readonly answered: readonly { readonly name: string; readonly host: string; readonly atMs: number }[];
  readonly hosts: ReadonlySet<string>;
  readonly hostsNotSlow: ReadonlySet<string>;
};

/** Computed once for each status: when thousands are down, thousands are judged. */
const known = new WeakMap<Status, Neighbours>();

function neighboursIn(status: Status): Neighbours {
  const before = known.get(status);
  if (before !== undefined) return before;
  const upstreams = [...status.upstreams];
  const neighbours = {
    answered: upstreams.flatMap(({ name, url, lastPoll }) =>
      lastPoll?.status === undefined ? [] : [{ name, host: hostOf(url), atMs: lastPoll.atMs }],
    ),
    hosts: hostsOf(upstreams),
    hostsNotSlow: hostsOf(upstreams.filter(({ health }) => health.state !== "degraded")),
  };
  known.set(status, neighbours);
  return neighbours;
}

/** The name of an upstream on another host that has answered since then. An error status is an answer too. */
export function answeredElsewhere(status: Status, url: string, sinceMs: number): string | undefined {
  const host = hostOf(url);
  return neighboursIn(status).answered.find((other) => other.host !== host && other.atMs >= sinceMs)?.name;
}

/** There are other hosts than this one, and all of them are slow. */
export function areAllOthersSlow(status: Status, url: string): boolean {
  const { hosts, hostsNotSlow } = neighboursIn(status);
  const host = hostOf(url);
  return hasOtherThan(hosts, host) && !hasOtherThan(hostsNotSlow, host);
}

export function hostOf(url: string): string {
  return /^\w+:\/\/([^/]*)/.exec(url)?.[1] ?? url;
}

function hostsOf(upstreams: readonly UpstreamSummary[]): ReadonlySet<string> {
  return new Set(upstreams.map(({ url }) => hostOf(url)));
}

function hasOtherThan(hosts: ReadonlySet<string>, host: string): boolean {
  return hosts.size > (hosts.has(host) ? 1 : 0);
}
