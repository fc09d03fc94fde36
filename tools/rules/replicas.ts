/**
 * In a fleet the leader speaks for all upstreams, and the leader changes. So what is said about an upstream has no
 * `instance`: an outage, a window or a guard goes on where the last leader left it.
 */

import { OF_UPSTREAM, OF_UPSTREAM_EVERYWHERE } from "./alert-text.ts";
import { NOT_OFFLINE } from "./offline.ts";
import type { Alert, Recording } from "./rule.ts";

/** Longer than it takes until the next leader has polled, and confirmed what it saw. */
export const HANDOVER = "2m";

/** How rules put together what the processes that watch an upstream say. */
export type Holders = {
  /** By which what they say is matched. */
  readonly labels: string;
  readonly total: (counted: string) => string;
  readonly setting: (metric: string) => string;
};

export const ONE: Holders = {
  labels: "job, instance, upstream",
  total: (counted) => counted,
  setting: (metric) => metric,
};

export const REPLICAS: Holders = {
  labels: "job, upstream",
  total: (counted) => `sum by (job, upstream) (${counted})`,
  setting: (metric) => `max by (job, upstream) (last_over_time(${metric}[${HANDOVER}]))`,
};

export const UP_BY_HOLDER: UpMetric = { metric: "pacewatch:upstream_up:leader", labels: "job, upstream" };

/** Between two leaders, what the last one said stands. A process that is offline knows nothing. */
export const IS_UP_BY_HOLDER: Recording = {
  record: UP_BY_HOLDER.metric,
  expr: `${knownUp("pacewatch_upstream_up")}\nor\n${knownUp(`last_over_time(pacewatch_upstream_up[${HANDOVER}])`)}`,
};

function knownUp(up: string): string {
  return `max by (job, upstream) (${up} ${NOT_OFFLINE})`;
}

/** An alert whose condition is true of a leader. */
export function byAnyHolder(alert: Alert): Alert {
  return aboutUpstream({
    ...alert,
    expr: `max by (job, upstream) (\n${alert.expr}\n)`,
    lastsFor: alert.lastsFor ?? HANDOVER,
  });
}

/** The text of an alert without `instance`. */
export function aboutUpstream(alert: Alert): Alert {
  const description = alert.description
    .replaceAll(OF_UPSTREAM, OF_UPSTREAM_EVERYWHERE)
    .replaceAll("$labels.job $labels.instance $labels.upstream", "$labels.job $labels.upstream");
  return { ...alert, description };
}

/** The metric by which `PacewatchUpstreamDown` pages is 0 during an outage. */
export type UpMetric = { readonly metric: string; readonly labels: string };
