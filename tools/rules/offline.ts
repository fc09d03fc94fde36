/** Our own being offline is told as such. */

import { OF_INSTANCE, queryValue } from "./alert-text.ts";
import type { Alert } from "./rule.ts";

const OFFLINE = "pacewatch_offline_upstreams";

/** Until a moment after it, when what was confirmed meanwhile has been polled again. */
export const NOT_OFFLINE: string = `unless on (job, instance) max_over_time(${OFFLINE}[2m]) > 0`;

export const OFFLINE_ALERT: Alert = {
  alert: "PacewatchOffline",
  severity: "page",
  expr: `${OFFLINE} > 0`,
  // The first success ends it. The other upstreams need a moment to be polled again, and are not down meanwhile: what this
  // inhibits lasts for two minutes too.
  lastsFor: "4m",
  summary: "{{ $labels.instance }} cannot reach any upstream: it is offline",
  description: `All {{ $value }} upstreams that {{ $labels.instance }} polled recently fail with dns, connect or timeout errors. Time since the last successful poll: ${queryValue(`time() - max(pacewatch_last_success_timestamp_seconds{${OF_INSTANCE}})`, "humanizeDuration", "none since it started")}. Its own network is the likely cause. Whether the upstreams are down is unknown.`,
};
