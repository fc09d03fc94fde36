import { OF_INSTANCE, told } from "./alert-text.ts";
import type { Alert, Recording } from "./rule.ts";

const NETWORK = `reason=~"dns|connect|timeout"`;

/** Its newest poll failed on the way, and so it has since about the last time that any upstream was reached. */
export const UNREACHABLE: Recording = {
  record: "pacewatch:unreachable",
  expr: `(
    pacewatch_last_poll_timestamp_seconds > pacewatch_last_success_timestamp_seconds
    and
    pacewatch_last_success_timestamp_seconds + 2 * pacewatch_schedule_period_seconds + 30
      > on (job, instance) group_left () max by (job, instance) (pacewatch_last_success_timestamp_seconds)
  or
    pacewatch_last_poll_timestamp_seconds unless on (job, instance) pacewatch_last_success_timestamp_seconds
)
and sum without (outcome, reason) (increase(pacewatch_polls_total{outcome="failed",${NETWORK}}[5m])) > 0`,
};

export const OFFLINE: Alert = {
  alert: "PacewatchOffline",
  severity: "page",
  // Not while an ok that should have been repeated by now is fresh, and not where anything answers at all.
  expr: `count by (job, instance) (pacewatch:unreachable) >= 2
unless on (job, instance)
  (
    pacewatch_last_poll_timestamp_seconds == pacewatch_last_success_timestamp_seconds
    and time() - pacewatch_last_poll_timestamp_seconds < clamp_max(pacewatch_schedule_period_seconds, 60) + 30
  )
unless on (job, instance)
  sum by (job, instance) (increase(pacewatch_polls_total{outcome!="ok",reason!~"dns|connect|timeout|internal"}[5m])) > 0`,
  // The first ok ends it. The others need a moment to be polled again, and are not down meanwhile.
  lastsFor: "2m",
  summary: "{{ $labels.instance }} reaches no upstream: it is offline",
  description: `{{ $value }} upstreams, all that {{ $labels.instance }} polled lately, fail by dns, connect or timeout; none answers. Time since the last ok of any: ${told(`time() - max(pacewatch_last_success_timestamp_seconds{${OF_INSTANCE}})`, "humanizeDuration", "none since its start")}. More likely its own network is broken than all of them at once: whether they are down is not known from here.`,
};
