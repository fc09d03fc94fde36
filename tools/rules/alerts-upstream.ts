import {
  availabilityNow,
  OF_UPSTREAM_EVERYWHERE,
  queryLabels,
  reasonsOver,
  SINCE_LAST_SUCCESS,
} from "./alert-text.ts";
import { counted, grown } from "./counted.ts";
import { NOT_OFFLINE, OFFLINE_ALERT } from "./offline.ts";
import { aboutUpstream, HANDOVER, lasting, type Processes, upBy } from "./processes.ts";
import type { Alert, Recording, RuleGroup } from "./rule.ts";

const QUOTA_POLLS = 'pacewatch_poll_reasons_total{reason="quota"}';
const RATE_POLLS = 'pacewatch_poll_reasons_total{reason="rate"}';
const AUTH_POLLS = 'pacewatch_poll_reasons_total{reason="auth"}';
const BLOCKED_POLLS = 'pacewatch_poll_reasons_total{reason="blocked"}';
/** The failures of an upstream that say it is down, whoever else stands in the way. */
const OTHER_FAILURES = 'pacewatch_poll_reasons_total{outcome="failed",reason!="blocked"}';

/** An upstream in one of these states does answer. */
const EXCUSED = "throttled|unauthorized";

/** How far back the newest polls are looked for: at least the time in which a failure is confirmed. */
const NEWEST = "10m";

/** Since these polls were counted, as long as the rest holds: on a slow schedule or after a long pause, that is long ago. */
function since(record: string, polls: string): string {
  return `(${counted(polls, NEWEST)} or last_over_time(${record}[5m]))`;
}

/**
 * It is down for us, and by nothing else than a wall. Where anything else failed too, or just before, it is told as down.
 * A wall may ask for silence, so its own failures may be long ago.
 */
const IS_BLOCKED: Recording = {
  record: "pacewatch:upstream_blocked",
  expr: `pacewatch_upstream_up == 0
and ${since("pacewatch:upstream_blocked", BLOCKED_POLLS)}
unless ${counted(OTHER_FAILURES, NEWEST)}`,
};

/** Throttled, and by the newest polls that tell because a quota is used up. */
const IS_QUOTA_REFUSED: Recording = {
  record: "pacewatch:upstream_quota_spent",
  expr: `max without (state) (pacewatch_upstream_state{state="throttled"})
and ${since("pacewatch:upstream_quota_spent", QUOTA_POLLS)}
unless (${counted(RATE_POLLS, NEWEST)} unless ${counted(QUOTA_POLLS, NEWEST)})`,
};

/** The upstream is not asked then, so nothing else pages. Where its last poll was ok, other slots were skipped. */
const IS_WITHOUT_TOKEN: Recording = {
  record: "pacewatch:upstream_without_token",
  expr: `max without (state) (pacewatch_upstream_state{state="unknown"})
and ${since("pacewatch:upstream_without_token", AUTH_POLLS)}
unless pacewatch_last_success_timestamp_seconds >= pacewatch_last_poll_timestamp_seconds`,
};

const BLOCKED: Alert = {
  alert: "PacewatchUpstreamBlocked",
  severity: "page",
  expr: "pacewatch:upstream_blocked == 0",
  summary: "A firewall or bot protection in front of {{ $labels.upstream }} blocks Pacewatch",
  description: `A firewall or bot protection in front of {{ $labels.upstream }} blocks Pacewatch: no poll has succeeded for ${SINCE_LAST_SUCCESS}. Others may still be served, and production too if it comes from another address. Failures in the last 5 minutes, by reason: ${reasonsOver("5m", "failed")}.`,
};

const DOWN: Alert = {
  alert: "PacewatchUpstreamDown",
  severity: "page",
  // It is 0 only after confirmation, so there is nothing left to wait for. An upstream that throttles us or rejects our
  // key does answer: if it was down before, that is over.
  expr: `pacewatch_upstream_up == 0
unless ignoring (state) pacewatch_upstream_state{state=~"${EXCUSED}"}
unless pacewatch:upstream_blocked`,
  summary: "{{ $labels.upstream }} is down",
  description: `No poll of {{ $labels.upstream }} has succeeded for ${SINCE_LAST_SUCCESS}. Failures in the last 5 minutes, by reason: ${reasonsOver("5m", "failed")}. Availability in the last hour: ${availabilityNow("1h")}.`,
};

const KEY_REJECTED: Alert = {
  alert: "PacewatchKeyRejected",
  severity: "page",
  expr: `max without (state) (pacewatch_upstream_state{state="unauthorized"})`,
  summary: "{{ $labels.upstream }} rejects our key, or the key lacks a permission",
  description: `{{ $labels.upstream }} rejects our key (unauthorized), or the key lacks a permission, or our country is not served (forbidden). Further polls confirmed it. Production fails too if it uses the same key, or asks from the same place. No poll has succeeded for ${SINCE_LAST_SUCCESS}. Rejected polls in the last 5 minutes, by reason: ${reasonsOver("5m", "rejected")}.`,
};

const TOKEN_UNAVAILABLE: Alert = {
  alert: "PacewatchTokenUnavailable",
  severity: "page",
  expr: `pacewatch:upstream_without_token
${NOT_OFFLINE}`,
  holdsFor: "5m",
  summary: "There is no access token for {{ $labels.upstream }}",
  description: `The token endpoint of {{ $labels.upstream }} fails, so the upstream itself is not polled: whether it is up is unknown. No poll has succeeded for ${SINCE_LAST_SUCCESS}. Production fails too if it needs tokens from the same endpoint.`,
};

const THROTTLED: Alert = {
  alert: "PacewatchThrottled",
  severity: "ticket",
  // A state has a series only while it holds: so many of the last 30 minutes were seen throttled, whoever watched the others.
  expr: `clamp_max(max without (state) (
  count_over_time(pacewatch_upstream_state{state="throttled"}[30m:1m])
  and pacewatch_upstream_state{state="throttled"}
) / 30, 1) > 0.5`,
  holdsFor: "10m",
  summary: "{{ $labels.upstream }} keeps throttling us",
  description: `{{ $labels.upstream }} throttled us for {{ $value | humanizePercentage }} of the last 30 minutes. This is not an outage. Throttled polls in that time, by kind: ${reasonsOver("30m", "throttled")}. Anything else that uses this key is probably throttled too.`,
};

const QUOTA_REFUSED: Alert = {
  alert: "PacewatchUpstreamQuotaSpent",
  severity: "page",
  expr: "pacewatch:upstream_quota_spent",
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

const SUNSET: Alert = {
  alert: "PacewatchApiEnding",
  severity: "ticket",
  expr: `pacewatch_upstream_sunset_timestamp_seconds - time() < ${30 * DAY_S}`,
  holdsFor: "10m",
  summary: "{{ $labels.upstream }} announces the end of its API",
  description: `The header Sunset of {{ $labels.upstream }} announces that this API {{ if gt $value 0.0 }}ends in {{ $value | humanizeDuration }}{{ else }}ended {{ $value | humanizeDuration | reReplaceAll "^-" "" }} ago{{ end }}. Its page links to what the provider says.`,
};

const SIGNALS_MALFORMED: Alert = {
  alert: "PacewatchSignalsMalformed",
  severity: "ticket",
  expr: `${grown("pacewatch_signals_malformed_total", "6h")} >= 3`,
  summary: "{{ $labels.upstream }} sends rate-limit headers that Pacewatch cannot parse",
  description:
    "{{ $value }} rate-limit headers of {{ $labels.upstream }} could not be parsed in the last 6 hours and were ignored. Pacewatch keeps to the configured limit, but cannot follow what the upstream advertises.",
};

/**
 * Replaces the alert of a single Pacewatch. Between two leaders, why it was not down stands for as long as its 0 does,
 * a recording is an evaluation older.
 */
export function downBy(processes: Processes): Alert {
  const { metric, labels } = upBy(processes);
  return {
    ...aboutUpstream(DOWN),
    expr: `${metric} == 0
unless on (${labels}) (
  last_over_time(pacewatch_upstream_state{state=~"${EXCUSED}"}[${HANDOVER}])
  unless ignoring (state) pacewatch_upstream_state{state!~"${EXCUSED}"}
)
unless on (${labels}) last_over_time(pacewatch:upstream_blocked[3m])`,
  };
}

/** Of several vantages: one that is alone with it wakes nobody, and goes on for a while. */
export function downInPart(processes: Processes): Alert {
  const down = downBy(processes);
  const { metric } = upBy(processes);
  return {
    ...down,
    alert: "PacewatchUpstreamDownInPart",
    severity: "ticket",
    expr: `${down.expr}
and on (job, upstream) (${metric} == 1)`,
    holdsFor: "10m",
    summary: "{{ $labels.upstream }} is down from {{ $labels.vantage }}, and not from elsewhere",
    description: `From {{ $labels.vantage }}, no poll of {{ $labels.upstream }} succeeds, and from other vantages they do: ${queryLabels(`${metric}{${OF_UPSTREAM_EVERYWHERE}} == 1`, "vantage", "none")}. Failures there in the last 5 minutes, by reason: ${reasonsOver("5m", "failed", "job=%q,vantage=%q,upstream=%q")}.`,
  };
}

/**
 * `down` decides when an upstream is down, by what is recorded: by one Pacewatch, or by the leader of the moment.
 */
export function upstreamAlerts(
  recorded: readonly Recording[] = [],
  down: Alert = lasting(DOWN),
  seen: (alert: Alert) => Alert = lasting,
  offline: Alert = OFFLINE_ALERT,
  more: readonly Alert[] = [],
): RuleGroup {
  return {
    name: "pacewatch-upstreams",
    // A group is evaluated in order. PacewatchOffline inhibits the others, so it comes before them.
    rules: [
      offline,
      IS_BLOCKED,
      IS_QUOTA_REFUSED,
      IS_WITHOUT_TOKEN,
      ...recorded,
      down,
      ...[
        BLOCKED,
        KEY_REJECTED,
        TOKEN_UNAVAILABLE,
        THROTTLED,
        QUOTA_REFUSED,
        certificateExpiring("page", `${EXPIRES_IN_S} < ${2 * DAY_S}`),
        certificateExpiring("ticket", `${EXPIRES_IN_S} < ${14 * DAY_S} and ${EXPIRES_IN_S} >= ${2 * DAY_S}`),
        SUNSET,
        SIGNALS_MALFORMED,
      ].map(seen),
      ...more,
    ],
  };
}
