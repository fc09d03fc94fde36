/** Our own being offline: told as such, and left out of the availability of all upstreams. */

import { parseDuration } from "../../src/core/time/duration.ts";
import { OF_INSTANCE, queryValue } from "./alert-text.ts";
import { before } from "./counted.ts";
import type { Alert, RuleGroup } from "./rule.ts";

const NETWORK_FAILURES = `pacewatch_polls_total{outcome="failed",reason=~"dns|connect|timeout"}`;

const OFFLINE = "pacewatch_offline_upstreams";

/** Until a moment after it, when what was confirmed meanwhile has been polled again. */
export const NOT_OFFLINE: string = `unless on (job, instance) max_over_time(${OFFLINE}[2m]) > 0`;

export const OFFLINE_ALERT: Alert = {
  alert: "PacewatchOffline",
  severity: "page",
  expr: `${OFFLINE} > 0`,
  // The first success ends it. The other upstreams need a moment to be polled again, and are not down meanwhile.
  lastsFor: "2m",
  summary: "{{ $labels.instance }} cannot reach any upstream: it is offline",
  description: `All {{ $value }} upstreams that {{ $labels.instance }} polled recently fail with dns, connect or timeout errors. Time since the last successful poll: ${queryValue(`time() - max(pacewatch_last_success_timestamp_seconds{${OF_INSTANCE}})`, "humanizeDuration", "none since it started")}. Its own network is the likely cause. Whether the upstreams are down is unknown.`,
};

const WHILE_OFFLINE = "pacewatch:polls_offline:increase1m";

/**
 * Each minute adds its own, so the interval of this group must stay a minute. A difference and not `increase`, so that
 * nothing is extrapolated; a counter that fell, or was not there, began at 0.
 */
export const OFFLINE_GROUP: RuleGroup = {
  name: "pacewatch-offline",
  interval: "1m",
  rules: [
    {
      record: WHILE_OFFLINE,
      // In its first minute also what failed before it was known. In the minute after it the last failures.
      expr: `(
  ${networkFailures("1m")}
  and on (job, instance) max_over_time(${OFFLINE}[1m] offset 1m) > 0
  or ${networkFailures("5m")}
)
and on (job, instance) max_over_time(${OFFLINE}[2m]) > 0`,
    },
  ],
};

function networkFailures(window: string): string {
  const now = `sum without (outcome, reason) (${NETWORK_FAILURES})`;
  const then = `sum without (outcome, reason) (${before(NETWORK_FAILURES, window)})`;
  return `(
    ${now}
      - ${then} >= 0
    or ${now}
  )`;
}

/** Our own being offline is no failure of theirs. `increase` extrapolates by up to a scrape, here taken for a minute. */
export function whileOnline(counter: string, window: string): string {
  const windowMs = parseDuration(window) ?? 0;
  const extrapolated = (windowMs / (windowMs - 60_000)).toFixed(4);
  const all = `increase(${counter}[${window}])`;
  return `(
  clamp_min(${all} - ${extrapolated} * sum_over_time(${WHILE_OFFLINE}[${window}]), 0)
  or ${all}
)`;
}
