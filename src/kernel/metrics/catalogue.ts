/** Every metric of Pacewatch, with where its numbers come from: the public contract, in this one place. */

import { type Burn, BURN_WINDOWS, QUOTAS } from "../../features/values/credit.ts";
import type { Value as ConfigValue } from "../../features/values/config.ts";
import { LINK_LABEL, type Upstream } from "../config/config.ts";
import { UNITS_OF_MONEY } from "../../features/money/price.ts";
import { PHASES } from "../exchange/exchange.ts";
import { SKIP_CAUSES } from "../exchange/outcome.ts";
import { OUTCOMES, REASON_NAMES, REASONS } from "../exchange/reasons.ts";
import { HEALTH_STATES } from "../poll/health.ts";
import { slotsOf } from "../schedule/schedule.ts";
import { CODE_LABELS, type Count, DURATION_BOUNDS } from "./accounts.ts";
import { type Description, type Labels, type MetricType, type Sample, type Value } from "./sample.ts";
import type {
  BudgetSnapshot,
  MetricsSnapshot,
  QuotaSnapshot,
  UpstreamSnapshot,
  ValueSnapshot,
} from "./snapshot.ts";
import { NOTIFY_OUTCOMES } from "./snapshot.ts";

/** Without a value there is no sample; true is 1. Without a start, the sample is as old as what it belongs to. */
export type Add = (
  value: Value | boolean | undefined,
  labels?: Labels,
  more?: Pick<Sample, "startedAtMs" | "exemplar">,
) => void;
type Read<Subject> = (subject: Subject, add: Add) => void;

export type Family<Subject> = Description & { readonly read: Read<Subject> };

export type Metric<Subject = never> = Family<Subject> & {
  /** The first label says what the metric belongs to: an upstream, a budget, or otherwise the process. */
  readonly labels: readonly string[];
};

type Row<Subject> = Pick<Family<Subject>, "type" | "help" | "read">;

const counter = rowsOf("counter");
const gauge = rowsOf("gauge");
const summary = rowsOf("summary");
const histogram = rowsOf("histogram");

export const OF_UPSTREAM: readonly Metric<UpstreamSnapshot>[] = metricsOf({
  "pacewatch_upstream_info{upstream,budget}": gauge(
    "Always 1, for each budget of the upstream: its budget, and the labels and links that the config gives it.",
    ({ upstream }, add) => upstream.budgets.forEach((budget) => add(1, { budget, ...ownLabels(upstream) })),
  ),
  "pacewatch_slots_total{upstream}": counter(
    "Slots that were decided. Always polls + polls in flight + skipped slots.",
    one(({ accounts }) => accounts.slots),
  ),
  "pacewatch_polls_in_flight{upstream}": gauge(
    "Polls that were sent or are being sent, and have no outcome yet.",
    one(({ accounts }) => accounts.inFlight),
  ),
  "pacewatch_polls_total{upstream,outcome}": counter(
    "Polls that ended, by outcome. All outcomes exist from the start.",
    ({ accounts }, add) =>
      OUTCOMES.forEach((outcome) => {
        const durations = accounts.durations[outcome];
        add(durations?.count ?? 0, { outcome }, durations && { exemplar: durations.exemplar });
      }),
  ),
  "pacewatch_poll_reasons_total{upstream,outcome,reason}": counter(
    "Polls that were not ok, by outcome and reason. A reason exists once it has happened.",
    eachCount(
      ({ accounts }) => accounts.reasons.counts,
      (reason) => ({ outcome: REASONS[reason].outcome, reason }),
    ),
  ),
  "pacewatch_polls_skipped_total{upstream,cause}": counter(
    "Slots that ended without a poll, by cause. A cause exists once it has happened.",
    eachCount(
      ({ accounts }) => accounts.skips.counts,
      (cause) => ({ cause }),
    ),
  ),
  "pacewatch_polls_within_objective_total{upstream}": counter(
    "Polls that were ok, at or under the latency objective.",
    one(({ accounts }) => accounts.withinObjective),
  ),
  "pacewatch_upstream_watched_seconds_total{upstream,outcome}": counter(
    "The time that polls watched, as each of them ended: one that was ok or failed covers the time since the one before, at most the usual gap of its schedule then. Availability is ok / (ok + failed).",
    ({ accounts: { watchedMs } }, add) => {
      add(watchedMs.ok / 1000, { outcome: "ok" });
      add(watchedMs.failed / 1000, { outcome: "failed" });
    },
  ),
  "pacewatch_responses_total{upstream,code}": counter(
    "Answers whose head arrived, by status code. Expected codes exist from the start, others once seen.",
    eachCount(
      ({ accounts, upstream }) => accounts.responsesWith(upstream.expect.status),
      (code) => ({ code }),
    ),
  ),
  "pacewatch_poll_duration_seconds{upstream,outcome}": histogram(
    `Duration of whole polls, by outcome. Those that were not ok exist once one ended so, and in text without buckets. The others have buckets up to ${DURATION_BOUNDS.join(", ")}.`,
    ({ accounts }, add) =>
      OUTCOMES.forEach((outcome) =>
        add(accounts.durations[outcome], { outcome }, accounts.durations[outcome]),
      ),
  ),
  "pacewatch_poll_phase_duration_seconds{upstream,phase}": summary(
    "Time spent in each phase of the polls that reached it. A phase exists once it has happened.",
    ({ accounts }, add) => PHASES.forEach((phase) => add(accounts.phases[phase], { phase })),
  ),
  "pacewatch_stream_first_event_seconds{upstream}": histogram(
    "From the start of a poll to the first event of its stream that counts; only of upstreams with `stream`, and of polls in which one came.",
    ({ upstream, accounts }, add) => upstream.stream && add(accounts.firstEvent, {}, accounts.firstEvent),
  ),
  "pacewatch_stream_longest_gap_seconds{upstream}": histogram(
    "The longest time in a poll between two events that count, or from the last until the poll timed out; only of upstreams with `stream`.",
    ({ upstream, accounts }, add) => upstream.stream && add(accounts.longestGap, {}, accounts.longestGap),
  ),
  "pacewatch_poll_delay_seconds{upstream}": summary(
    "From the slot to the sending: spreading, pacing, and waiting for the right to send.",
    one(({ accounts }) => accounts.delay),
  ),
  "pacewatch_poll_delay_max_seconds{upstream}": gauge(
    "The longest such delay of the last minute, or of the last poll if none ended since; absent before the first.",
    one(({ accounts, nowMs }) => accounts.longestDelaySeconds(nowMs)),
  ),
  "pacewatch_upstream_up{upstream}": gauge(
    "1 while the upstream answers as expected, 0 once a failure is confirmed; absent while unknown.",
    one(({ health }) => health.isUp),
  ),
  "pacewatch_upstream_state{upstream,state}": gauge(
    "Always 1, for the upstream's present state.",
    ({ health }, add) => add(1, { state: health.state }),
  ),
  "pacewatch_last_poll_timestamp_seconds{upstream}": gauge(
    "When the last poll ended; absent before the first.",
    one(({ accounts }) => seconds(accounts.lastPollAtMs)),
  ),
  "pacewatch_last_success_timestamp_seconds{upstream}": gauge(
    "When the last poll that was ok ended; absent before the first.",
    one(({ accounts }) => seconds(accounts.lastSuccessAtMs)),
  ),
  "pacewatch_schedule_period_seconds{upstream}": gauge(
    "The usual gap between two slots of the schedule: its nights and weekends are not among them.",
    one(({ upstream }) => seconds(slotsOf(upstream.schedule).usualGapMs)),
  ),
  "pacewatch_schedule_watched_ratio{upstream}": gauge(
    "The part of all time that the schedule watches; absent where it has no nights or weekends.",
    one(({ upstream }) => {
      const { watchedRatio } = slotsOf(upstream.schedule);
      return watchedRatio < 1 ? watchedRatio : undefined;
    }),
  ),
  "pacewatch_stalled_at_timestamp_seconds{upstream}": gauge(
    "When the upstream is stalled unless a poll ends before: its third slot since the last poll, since the last slot that was skipped because the upstream or a quota asked for it, and since it has its schedule; the silence of a new budget, and a minute.",
    one(({ stalledAtMs }) => seconds(stalledAtMs)),
  ),
  "pacewatch_tls_certificate_expiry_timestamp_seconds{upstream}": gauge(
    "When the earliest to expire of the certificates in the chain does; absent until one was seen.",
    one(({ accounts, upstream }) => seconds(accounts.certificateExpiresAtMs(upstream.url))),
  ),
  "pacewatch_upstream_deprecation_timestamp_seconds{upstream}": gauge(
    "Since when the API is deprecated, by its own word, or when it first said so without a date; absent if it does not.",
    one(({ accounts }) => seconds(accounts.deprecatedAtMs)),
  ),
  "pacewatch_upstream_sunset_timestamp_seconds{upstream}": gauge(
    "When the API is expected to stop answering, by its own word; absent if it does not say.",
    one(({ accounts }) => seconds(accounts.sunsetAtMs)),
  ),
  "pacewatch_upstream_value{upstream,name,unit}": gauge(
    "A number that the answers tell, as `values` in the config names it; absent once not seen for three periods (at least 10 minutes).",
    eachValue(({ name, unit = "" }, { value }, add) => add(value, { name, unit })),
  ),
  "pacewatch_upstream_value_timestamp_seconds{upstream,name}": gauge(
    "When the value was last seen; absent with it.",
    eachValue(({ name }, { seenAtMs }, add) => add(seconds(seenAtMs), { name })),
  ),
  "pacewatch_upstream_value_readable{upstream,name}": gauge(
    "1 if the answers have a number where `values` in the config names one, 0 once they have had none for three periods (at least 10 minutes); absent while nothing is answered.",
    eachValue(({ name }, { isReadable }, add) => add(isReadable, { name })),
  ),
  "pacewatch_upstream_credit_burn_per_second{upstream,name,window}": gauge(
    "How fast a credit went down over the window, refills left out; absent until half of the window is known.",
    eachBurn(({ perSecond }) => perSecond),
  ),
  "pacewatch_upstream_credit_empty_timestamp_seconds{upstream,name,window}": gauge(
    "When a credit runs out at the pace of the window; absent if not within a year. While the credit cannot be read, it stays as it was.",
    eachBurn(({ emptyAtMs }) => seconds(emptyAtMs)),
  ),
  "pacewatch_objective_ratio{upstream}": gauge(
    "Availability objective from the config: the share of the watched time that should be ok.",
    one(({ upstream }) => upstream.objective.availability),
  ),
  "pacewatch_objective_latency_seconds{upstream}": gauge(
    "Latency objective from the config.",
    one(({ upstream }) => seconds(upstream.objective.latencyMs)),
  ),
  "pacewatch_spend_total{upstream,currency}": counter(
    "What its polls cost, by its price; of a poll whose answer does not tell, the most that it may cost. Absent without a price.",
    ({ accounts, upstream: { price } }, add) =>
      accounts
        .spentIn(price?.currency)
        .forEach((spent) => add(spent.count / UNITS_OF_MONEY, { currency: spent.word }, spent)),
  ),
  "pacewatch_signals_malformed_total{upstream}": counter(
    "Rate-limit signals in answers that could not be read, and were ignored; absent before the first.",
    one(({ accounts }) => accounts.malformedSignals || undefined),
  ),
});

export const OF_BUDGET: readonly Metric<BudgetSnapshot>[] = metricsOf({
  "pacewatch_budget_limit_requests{budget,per}": gauge(
    "Requests that the upstream's owner allows within the period.",
    eachRate(({ limit }) => limit),
  ),
  "pacewatch_budget_cap_requests{budget,per}": gauge(
    "Requests that Pacewatch allows itself within the period: its share of the limit, less when told.",
    eachRate(({ cap }) => cap),
  ),
  "pacewatch_budget_leases{budget,per}": gauge(
    "Leases that are held now: each is the right to one request, kept until it can no longer count.",
    eachRate(({ leases }) => leases),
  ),
  "pacewatch_budget_advertised_limit_requests{budget}": gauge(
    "The limit that the upstream last told; absent until it tells one.",
    one(({ advertisedLimit }) => advertisedLimit),
  ),
  "pacewatch_budget_advertised_remaining_requests{budget}": gauge(
    "What was left of the limit, as the upstream last told; absent until it tells.",
    one(({ advertisedRemaining }) => advertisedRemaining),
  ),
  "pacewatch_budget_paused_until_timestamp_seconds{budget}": gauge(
    "Until when the upstream asked for silence; 0 when it does not.",
    one(({ pausedUntilWallMs }) => seconds(pausedUntilWallMs)),
  ),
  "pacewatch_budget_quota_limit_requests{budget}": gauge(
    "Requests that Pacewatch's own long quota allows; absent without one.",
    one(({ quota }) => quota?.limit),
  ),
  "pacewatch_budget_quota_used_requests{budget}": gauge(
    "Requests of the long quota that are spent.",
    one(({ quota }) => quota?.used),
  ),
  "pacewatch_budget_quota_unconfirmed_requests{budget}": gauge(
    "Those of the used ones that were in flight when Pacewatch was killed: they may have been sent, or not.",
    one(({ quota }) => quota?.unconfirmed),
  ),
  "pacewatch_budget_quota_forecast_requests{budget}": gauge(
    "Requests that the schedule would spend within the quota's period.",
    one(({ quota }) => quota?.forecast),
  ),
  "pacewatch_budget_spend_limit{budget,currency}": gauge(
    "Money that Pacewatch may spend in the period of the budget's spend; absent without one, as are the others of it.",
    ofSpend(({ limit }) => limit),
  ),
  "pacewatch_budget_spend_used{budget,currency}": gauge(
    "Money that counts as spent, and the most that polls in flight may cost.",
    ofSpend(({ used }) => used),
  ),
  "pacewatch_budget_spend_forecast{budget,currency}": gauge(
    "Money that the schedule would spend at most within the period.",
    ofSpend(({ forecast }) => forecast),
  ),
  "pacewatch_budget_quota_burn_per_second{budget,quota,window}": gauge(
    "The part of a quota that was spent per second over the window: our own of requests or of money, or one of a day, a week or a month and more that answers tell; absent until half of the window is known.",
    eachQuota(({ perSecond }) => perSecond),
  ),
  "pacewatch_budget_quota_empty_timestamp_seconds{budget,quota,window}": gauge(
    "When a quota is used up at the pace of the window; absent if it refills before.",
    eachQuota(({ emptyAtMs }) => seconds(emptyAtMs)),
  ),
});

export const OF_PROCESS: readonly Metric<MetricsSnapshot>[] = metricsOf({
  pacewatch_state_store_up: gauge(
    "1 while state can be written, 0 while it cannot; absent without a state file.",
    one(({ stateStoreUp }) => stateStoreUp),
  ),
  pacewatch_state_lost_timestamp_seconds: gauge(
    "When a damaged state file was moved aside with what it knew; for a day, then absent.",
    one(({ stateLostAtMs }) => seconds(stateLostAtMs)),
  ),
  pacewatch_offline_upstreams: gauge(
    "Upstreams that cannot be reached because Pacewatch itself is offline; 0 while any upstream answers.",
    one(({ offlineUpstreams }) => offlineUpstreams),
  ),
  pacewatch_leader: gauge(
    "1 while this process leads its fleet and polls, 0 while it stands by; absent without a fleet, as are the others of it.",
    one(({ fleet }) => fleet?.isLeading),
  ),
  pacewatch_lock_up: gauge(
    "1 while the lock answers this process, 0 while it does not.",
    one(({ fleet }) => fleet?.isLockUp),
  ),
  "pacewatch_config_info{digest}": gauge(
    "1, with a digest of the budgets and upstreams that this process runs: equal where those are.",
    ({ fleet }, add) => add(fleet && 1, fleet && { digest: fleet.digest }),
  ),
  "pacewatch_notifications_total{receiver,outcome}": counter(
    "Messages to a receiver: delivered, failed and to be sent again, or refused for good; absent without notify.",
    ({ receivers }, add) => {
      for (const { name: receiver, counts } of receivers)
        for (const outcome of NOTIFY_OUTCOMES) add(counts[outcome], { receiver, outcome });
    },
  ),
  "pacewatch_notifications_oldest_pending_seconds{receiver}": gauge(
    "Age of the oldest message that a receiver did not get yet, group_wait included; 0 while there is none.",
    ({ receivers }, add) => {
      for (const { name: receiver, oldestDueMs, nowMs } of receivers)
        add(oldestDueMs === undefined ? 0 : Math.max(0, (nowMs - oldestDueMs) / 1000), { receiver });
    },
  ),
  pacewatch_config_last_reload_successful: gauge(
    "1 when the last load of the config succeeded, 0 when the old one runs on.",
    one(({ reload }) => reload.successful),
  ),
  pacewatch_config_last_reload_success_timestamp_seconds: gauge(
    "When the config was last loaded with success.",
    one(({ reload }) => seconds(reload.lastSuccessAtMs)),
  ),
  "pacewatch_build_info{version,node}": gauge(
    "Always 1: the versions of Pacewatch and of Node.js.",
    ({ build }, add) => add(1, build),
  ),
});

export const METRICS: readonly Metric[] = [...OF_UPSTREAM, ...OF_BUDGET, ...OF_PROCESS];

/** Labels whose values are a closed set, whichever metric carries them. */
export const CLOSED_LABELS: Readonly<Record<string, readonly string[]>> = {
  outcome: [...new Set([...OUTCOMES, ...NOTIFY_OUTCOMES])],
  reason: REASON_NAMES,
  cause: SKIP_CAUSES,
  code: CODE_LABELS,
  phase: PHASES,
  state: HEALTH_STATES,
  window: BURN_WINDOWS,
  quota: QUOTAS,
};

function rowsOf(type: MetricType) {
  return <Subject>(help: string, read: Read<Subject>): Row<Subject> => ({ type, help, read });
}

/** Names and labels are written as in a query. */
function metricsOf<Subject>(rows: Readonly<Record<string, Row<Subject>>>): readonly Metric<Subject>[] {
  return Object.entries(rows).map(([signature, row]) => {
    const [name = "", ...labels] = signature.split(/[{},]/).filter((word) => word !== "");
    return { name, labels, ...row };
  });
}

/** One sample, without further labels. */
function one<Subject>(read: (subject: Subject) => Value | boolean | undefined): Read<Subject> {
  return (subject, add) => add(read(subject));
}

function eachCount<Subject, Word>(
  counts: (subject: Subject) => readonly Count<Word>[],
  labelsOf: (word: Word) => Labels,
): Read<Subject> {
  return (subject, add) => counts(subject).forEach((each) => add(each.count, labelsOf(each.word), each));
}

function eachValue(
  read: (config: ConfigValue, value: ValueSnapshot, add: Add) => void,
): Read<UpstreamSnapshot> {
  return ({ upstream, values }, add) => {
    upstream.values?.forEach((config, place) => {
      const value = values?.[place];
      if (value !== undefined) read(config, value, add);
    });
  };
}

function eachBurn(read: (burn: Burn) => number | undefined): Read<UpstreamSnapshot> {
  return eachValue(({ name, credit }, { burns }, add) => {
    if (credit) for (const burn of burns) add(read(burn), { name, window: burn.window });
  });
}

function ofSpend(read: (spend: QuotaSnapshot) => number): Read<BudgetSnapshot> {
  return ({ spend }, add) => {
    if (spend?.currency !== undefined) add(read(spend), { currency: spend.currency });
  };
}

function eachQuota(read: (burn: Burn) => number | undefined): Read<BudgetSnapshot> {
  return ({ quotas }, add) => {
    for (const { quota, burns } of quotas) {
      for (const burn of burns) add(read(burn), { quota, window: burn.window });
    }
  };
}

function eachRate(read: (rate: BudgetSnapshot["rates"][number]) => number): Read<BudgetSnapshot> {
  return ({ rates }, add) => {
    for (const rate of rates) add(read(rate), { per: rate.label });
  };
}

function ownLabels({ labels, links }: Upstream): Labels {
  if (links === undefined) return labels;
  const linked = Object.entries(links).map(([name, url]) => [LINK_LABEL + name, url]);
  return { ...labels, ...Object.fromEntries(linked) };
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}
