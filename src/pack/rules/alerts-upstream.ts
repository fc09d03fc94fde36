import {
  queryCounts,
  OF_INSTANCE,
  OF_UPSTREAM,
  recentFailures,
  SINCE_LAST_SUCCESS,
  queryValue,
} from "./alert-text.ts";
import type { Alert, Recording, RuleGroup } from "./rule.ts";

const DOWN: Alert = {
  alert: "PacewatchUpstreamDown",
  severity: "page",
  // It is 0 only after confirmation, so there is nothing left to wait for. An upstream that throttles us or rejects our
  // key does answer: if it was down before, that is over.
  expr: `pacewatch_upstream_up == 0
unless ignoring (state) pacewatch_upstream_state{state=~"throttled|unauthorized"} == 1`,
  summary: "{{ $labels.upstream }} is down",
  description: `No poll of {{ $labels.upstream }} has succeeded for ${SINCE_LAST_SUCCESS}. Failures in the last 5 minutes, by reason: ${recentFailures("5m")}. Availability over the last hour: ${queryValue(`pacewatch:availability:ratio1h{${OF_UPSTREAM}}`, "humanizePercentage", "unknown")}.`,
};

const KEY_REJECTED: Alert = {
  alert: "PacewatchKeyRejected",
  severity: "page",
  expr: `max without (state) (pacewatch_upstream_state{state="unauthorized"} == 1)`,
  summary: "{{ $labels.upstream }} rejects our key",
  description: `{{ $labels.upstream }} answers our key with 401 or 403, confirmed by further polls. Production fails too if it uses the same key. No poll has succeeded for ${SINCE_LAST_SUCCESS}. Failures in the last 5 minutes, by reason: ${recentFailures("5m")}.`,
};

const THROTTLED: Alert = {
  alert: "PacewatchThrottled",
  severity: "ticket",
  expr: `max without (state) (avg_over_time(pacewatch_upstream_state{state="throttled"}[30m])) > 0.5`,
  holdsFor: "10m",
  summary: "{{ $labels.upstream }} keeps throttling us",
  description: `{{ $labels.upstream }} throttled us for {{ $value | humanizePercentage }} of the last 30 minutes. This is not an outage. Throttled polls in that time, by kind: ${queryCounts(`sum by (reason) (increase(pacewatch_polls_total{outcome="throttled",${OF_UPSTREAM}}[30m])) >= 0.5`, "reason", "none")}. Anything else that uses this key is probably throttled too.`,
};

const QUOTA_REFUSED: Alert = {
  alert: "PacewatchUpstreamQuotaSpent",
  severity: "page",
  expr: `max without (state) (pacewatch_upstream_state{state="throttled"} == 1)
and ignoring (outcome, reason) increase(pacewatch_polls_total{outcome="throttled",reason="quota"}[2h]) > 0`,
  summary: "The quota of our key at {{ $labels.upstream }} is used up",
  description: `{{ $labels.upstream }} answers that the quota or credit of our key is used up. No poll has succeeded for ${SINCE_LAST_SUCCESS}. Production is rejected too if it uses the same account.`,
};

const EXPIRES_IN_S = "pacewatch_tls_certificate_expiry_timestamp_seconds - time()";
const DAY_S = 86_400;

function certificateExpiring(severity: Alert["severity"], expr: string): Alert {
  return {
    alert: "PacewatchCertificateExpiring",
    severity,
    expr,
    holdsFor: "10m",
    summary: "The certificate of {{ $labels.upstream }} expires soon",
    description:
      "The first certificate in the chain of {{ $labels.upstream }} to expire has {{ $value | humanizeDuration }} left. After that, every client that verifies it fails.",
  };
}

const SIGNALS_MALFORMED: Alert = {
  alert: "PacewatchSignalsMalformed",
  severity: "ticket",
  expr: `round(increase(pacewatch_signals_malformed_total[6h])) >= 3`,
  summary: "{{ $labels.upstream }} sends rate-limit headers that Pacewatch cannot parse",
  description:
    "{{ $value }} rate-limit headers of {{ $labels.upstream }} could not be parsed in the last 6 hours and were ignored. Pacewatch keeps to the configured limit, but cannot follow what the upstream advertises.",
};

/** `down` decides when an upstream is down: by one Pacewatch, or by a majority of vantages. */
export function upstreamAlerts(down: Alert = DOWN): RuleGroup {
  return {
    name: "pacewatch-upstreams",
    // A group is evaluated in order. PacewatchOffline inhibits the others, so it comes before them.
    rules: [
      UNREACHABLE,
      OFFLINE,
      down,
      KEY_REJECTED,
      THROTTLED,
      QUOTA_REFUSED,
      certificateExpiring("page", `${EXPIRES_IN_S} < ${2 * DAY_S}`),
      certificateExpiring("ticket", `${EXPIRES_IN_S} < ${14 * DAY_S} and ${EXPIRES_IN_S} >= ${2 * DAY_S}`),
      SIGNALS_MALFORMED,
    ],
  };
}

const NETWORK = `reason=~"dns|connect|timeout"`;

/** Its newest poll failed in the network, and it has not succeeded since about the last success of any upstream. */
const UNREACHABLE: Recording = {
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

const OFFLINE: Alert = {
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
  // The first success ends it. The other upstreams need a moment to be polled again, and are not down meanwhile.
  lastsFor: "2m",
  summary: "{{ $labels.instance }} cannot reach any upstream: it is offline",
  description: `All {{ $value }} upstreams that {{ $labels.instance }} polled recently fail with dns, connect or timeout errors. Time since the last successful poll: ${queryValue(`time() - max(pacewatch_last_success_timestamp_seconds{${OF_INSTANCE}})`, "humanizeDuration", "none since it started")}. Its own network is the likely cause. Whether the upstreams are down is unknown.`,
};
