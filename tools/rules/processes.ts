/**
 * In a fleet the leader speaks for all upstreams, and the leader changes. So what is said about an upstream has no
 * `instance`: an outage, a window or a guard goes on where the last leader left it. Of several vantages, each speaks for
 * itself, and more than half of them decide.
 */

import { OF_UPSTREAM, OF_UPSTREAM_EVERYWHERE } from "./alert-text.ts";
import { NOT_OFFLINE } from "./offline.ts";
import type { Alert, Recording } from "./rule.ts";

/** Longer than it takes until the next leader has polled, and confirmed what it saw. */
export const HANDOVER = "2m";

/** How rules put together what the processes that watch an upstream say. */
export type Processes = {
  /** By which what they say is matched. */
  readonly labels: string;
  readonly total: (counted: string) => string;
  readonly setting: (metric: string) => string;
  /** The greatest that it was in this window. */
  readonly greatest: (metric: string, window: string) => string;
};

export const ONE: Processes = {
  labels: "job, instance, upstream",
  total: (counted) => counted,
  setting: (metric) => metric,
  greatest: overWindow,
};

export const FLEET: Processes = processesBy("job, upstream");
/** At each of them is one process, or a fleet. */
export const VANTAGES: Processes = processesBy("job, vantage, upstream");

function processesBy(labels: string): Processes {
  return {
    labels,
    total: (counted) => `sum by (${labels}) (${counted})`,
    setting: (metric) => `max by (${labels}) (last_over_time(${metric}[${HANDOVER}]))`,
    greatest: (metric, window) => `max by (${labels}) (${overWindow(metric, window)})`,
  };
}

function overWindow(metric: string, window: string): string {
  return `max_over_time(${metric}[${window}])`;
}

export function upBy({ labels }: Processes): UpMetric {
  return { metric: "pacewatch:upstream_up:leader", labels };
}

/** Between two leaders, what the last one said stands. A process that is offline knows nothing. */
export function isUpBy(processes: Processes): Recording {
  const { metric, labels } = upBy(processes);
  const known = (up: string): string => `max by (${labels}) (${up} ${NOT_OFFLINE})`;
  const last = `last_over_time(pacewatch_upstream_up[${HANDOVER}])`;
  return { record: metric, expr: `${known("pacewatch_upstream_up")}\nor\n${known(last)}` };
}

/** Where an upstream is watched from now, or a moment ago. */
export const WATCHING: Recording = {
  record: "pacewatch:vantages_watching:count",
  expr: `count by (job, upstream) (\n  max by (${VANTAGES.labels}) (last_over_time(pacewatch_slots_total[${HANDOVER}]) ${NOT_OFFLINE})\n)`,
};

/** A scrape that failed, or a process that was replaced, is no end of it, and no second page. */
export function lasting(alert: Alert): Alert {
  return { ...alert, lastsFor: alert.lastsFor ?? HANDOVER };
}

/** An alert whose condition is true of more than half of the vantages. */
export function byMajority(alert: Alert): Alert {
  return aboutUpstream({
    ...lasting(alert),
    expr: `max by (job, upstream) (
${alert.expr}
)
and on (job, upstream)
count by (job, upstream) (max by (${VANTAGES.labels}) (
${alert.expr}
)) > on (job, upstream) (${WATCHING.record} / 2)`,
  });
}

/** An alert whose condition is true of a leader. */
export function byAnyLeader(alert: Alert): Alert {
  return aboutUpstream({
    ...lasting(alert),
    expr: `max by (job, upstream) (\n${alert.expr}\n)`,
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
