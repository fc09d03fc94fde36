import { counted, OF_INSTANCE, OF_UPSTREAM, recentFailures, SINCE_LAST_SUCCESS, told } from "./alert-text.ts";
import type { Alert, Recording, RuleGroup } from "./rule.ts";

const DOWN: Alert = {
  alert: "PacewatchUpstreamDown",
  severity: "page",
  // Confirmed before it is 0, so there is nothing left to wait for. An upstream that says "too many requests" or
  // "not with this key" is there: that it was down before is no news then.
  expr: `pacewatch_upstream_up == 0
unless ignoring (state) pacewatch_upstream_state{state=~"throttled|unauthorized"} == 1`,
  summary: "{{ $labels.upstream }} is down",
  description: `No poll of {{ $labels.upstream }} was ok for ${SINCE_LAST_SUCCESS}. Failures in the last 5 minutes, by reason: ${recentFailures("5m")}. Availability over the last hour: ${told(`pacewatch:availability:ratio1h{${OF_UPSTREAM}}`, "humanizePercentage", "unknown")}.`,
};

const KEY_REJECTED: Alert = {
  alert: "PacewatchKeyRejected",
  severity: "page",
  expr: `max without (state) (pacewatch_upstream_state{state="unauthorized"} == 1)`,
  summary: "{{ $labels.upstream }} rejects our key",
  description: `{{ $labels.upstream }} answers 401 or 403 to our key, confirmed; production may be next if it uses the same one. No poll was ok for ${SINCE_LAST_SUCCESS}. Failures in the last 5 minutes, by reason: ${recentFailures("5m")}.`,
};

const THROTTLED: Alert = {
  alert: "PacewatchThrottled",
  severity: "ticket",
  expr: `max without (state) (avg_over_time(pacewatch_upstream_state{state="throttled"}[30m])) > 0.5`,
  holdsFor: "10m",
  summary: "{{ $labels.upstream }} throttles us for long",
  description: `{{ $labels.upstream }} was throttled for {{ $value | humanizePercentage }} of the last 30 minutes; this is not an outage. Refused polls in that time, by kind: ${counted(`sum by (reason) (increase(pacewatch_polls_total{outcome="throttled",${OF_UPSTREAM}}[30m])) >= 0.5`, "reason", "none")}. Whatever else uses this key is likely to be refused too.`,
};

const QUOTA_REFUSED: Alert = {
  alert: "PacewatchUpstreamQuotaSpent",
  severity: "page",
  expr: `max without (state) (pacewatch_upstream_state{state="throttled"} == 1)
and ignoring (outcome, reason) increase(pacewatch_polls_total{outcome="throttled",reason="quota"}[2h]) > 0`,
  summary: "The quota of our key at {{ $labels.upstream }} is spent",
  description: `{{ $labels.upstream }} answers that the quota or the credit of our key is spent; for ${SINCE_LAST_SUCCESS} no poll was ok. Production is refused too if it uses the same account.`,
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
      "The earliest to expire of the certificates that {{ $labels.upstream }} shows has {{ $value | humanizeDuration }} left. After that every caller that checks it fails.",
  };
}

const SIGNALS_MALFORMED: Alert = {
  alert: "PacewatchSignalsMalformed",
  severity: "ticket",
  expr: `round(increase(pacewatch_signals_malformed_total[6h])) >= 3`,
  summary: "{{ $labels.upstream }} sends rate-limit headers that cannot be read",
  description:
    "{{ $value }} rate-limit signals of {{ $labels.upstream }} could not be read in the last 6 hours, and were ignored: Pacewatch keeps to the configured limit, but cannot heed what this upstream says about it.",
};

/** With whatever decides that an upstream is down: one Pacewatch, or a majority of them. */
export function upstreamAlerts(down: Alert = DOWN): RuleGroup {
  return {
    name: "pacewatch-upstreams",
    // One group is evaluated in this order: what silences the others is known before they are.
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

/** Its newest poll failed on the way, and so it has since about the last time that any upstream was reached. */
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
  // The first ok ends it. The others need a moment to be polled again, and are not down meanwhile.
  lastsFor: "2m",
  summary: "{{ $labels.instance }} reaches no upstream: it is offline",
  description: `{{ $value }} upstreams, all that {{ $labels.instance }} polled lately, fail by dns, connect or timeout; none answers. Time since the last ok of any: ${told(`time() - max(pacewatch_last_success_timestamp_seconds{${OF_INSTANCE}})`, "humanizeDuration", "none since its start")}. More likely its own network is broken than all of them at once: whether they are down is not known from here.`,
};
