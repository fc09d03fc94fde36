/** The metrics of the kernel. */

import { LINK_LABEL, type Upstream } from "../config/config.ts";
import { PHASES } from "../exchange/exchange.ts";
import { OUTCOMES, REASONS } from "../exchange/reasons.ts";
import { slotsOf } from "../schedule/schedule.ts";
import { DURATION_BOUNDS } from "./accounts.ts";
import {
  type Add,
  counter,
  eachCount,
  gauge,
  histogram,
  type Labels,
  type Metrics,
  one,
  seconds,
  summary,
  NO_LABELS,
} from "./family.ts";
import type { BudgetSnapshot } from "./snapshot.ts";

export const KERNEL_METRICS: Metrics = {
  everywhere: ({ config: { vantage } }) => (vantage === undefined ? NO_LABELS : { vantage: vantage.name }),
  upstream: {
    pacewatch_upstream_info: gauge(
      "Always 1, for each budget of the upstream: its budget, and the labels and links that the config gives it.",
      ({ upstream }, add) => upstream.budgets.forEach((budget) => add(1, { budget, ...ownLabels(upstream) })),
    ),
    pacewatch_slots_total: counter(
      "Slots that were decided. Always polls + polls in flight + skipped slots.",
      one(({ accounts }) => accounts.slots),
    ),
    pacewatch_polls_in_flight: gauge(
      "Polls that were sent or are being sent, and have no outcome yet.",
      one(({ accounts }) => accounts.inFlight),
    ),
    pacewatch_polls_total: counter(
      "Polls that ended, by outcome. All outcomes exist from the start.",
      ({ accounts }, add) =>
        OUTCOMES.forEach((outcome) => {
          const durations = accounts.durations[outcome];
          add(durations?.count ?? 0, { outcome }, durations && { exemplar: durations.exemplar });
        }),
    ),
    pacewatch_poll_reasons_total: counter(
      "Polls that were not ok, by outcome and reason. A reason exists once it has happened.",
      eachCount(
        ({ accounts }) => accounts.reasons.counts,
        (reason) => ({ outcome: REASONS[reason].outcome, reason }),
      ),
    ),
    pacewatch_polls_skipped_total: counter(
      "Slots that ended without a poll, by cause. A cause exists once it has happened.",
      eachCount(
        ({ accounts }) => accounts.skips.counts,
        (cause) => ({ cause }),
      ),
    ),
    pacewatch_polls_within_objective_total: counter(
      "Polls that were ok, at or under the latency objective.",
      one(({ accounts }) => accounts.withinObjective),
    ),
    pacewatch_upstream_watched_seconds_total: counter(
      "The time that polls watched, as each of them ended: one that was ok or failed covers the time since the one before, at most the usual gap of its schedule then. Availability is ok / (ok + failed).",
      ({ accounts: { watchedMs } }, add) => {
        add(watchedMs.ok / 1000, { outcome: "ok" });
        add(watchedMs.failed / 1000, { outcome: "failed" });
      },
    ),
    pacewatch_responses_total: counter(
      "Answers whose head arrived, by status code. Expected codes exist from the start, others once seen.",
      eachCount(
        ({ accounts, upstream }) => accounts.responsesWith(upstream.expect.status),
        (code) => ({ code }),
      ),
    ),
    pacewatch_poll_duration_seconds: histogram(
      `Duration of whole polls, by outcome. Those that were not ok exist once one ended so, and in text without buckets. The others have buckets up to ${DURATION_BOUNDS.join(", ")}.`,
      ({ accounts }, add) =>
        OUTCOMES.forEach((outcome) =>
          add(accounts.durations[outcome], { outcome }, accounts.durations[outcome]),
        ),
    ),
    pacewatch_poll_phase_duration_seconds: summary(
      "Time spent in each phase of the polls that reached it. A phase exists once it has happened.",
      ({ accounts }, add) => PHASES.forEach((phase) => add(accounts.phases[phase], { phase })),
    ),
    pacewatch_poll_delay_seconds: summary(
      "From the slot to the sending: spreading, pacing, and waiting for the right to send.",
      one(({ accounts }) => accounts.delay),
    ),
    pacewatch_poll_delay_max_seconds: gauge(
      "The longest such delay of the last minute, or of the last poll if none ended since; absent before the first.",
      one(({ accounts, nowMs }) => accounts.longestDelaySeconds(nowMs)),
    ),
    pacewatch_upstream_up: gauge(
      "1 while the upstream answers as expected, 0 once a failure is confirmed; absent while unknown.",
      one(({ health }) => health.isUp),
    ),
    pacewatch_upstream_state: gauge("Always 1, for the upstream's present state.", ({ health }, add) =>
      add(1, { state: health.state }),
    ),
    pacewatch_last_poll_timestamp_seconds: gauge(
      "When the last poll ended; absent before the first.",
      one(({ accounts }) => seconds(accounts.lastPollAtMs)),
    ),
    pacewatch_last_success_timestamp_seconds: gauge(
      "When the last poll that was ok ended; absent before the first.",
      one(({ accounts }) => seconds(accounts.lastSuccessAtMs)),
    ),
    pacewatch_schedule_period_seconds: gauge(
      "The usual gap between two slots of the schedule: its nights and weekends are not among them.",
      one(({ upstream }) => seconds(slotsOf(upstream.schedule).usualGapMs)),
    ),
    pacewatch_schedule_watched_ratio: gauge(
      "The part of all time that the schedule watches; absent where it has no nights or weekends.",
      one(({ upstream }) => {
        const { watchedRatio } = slotsOf(upstream.schedule);
        return watchedRatio < 1 ? watchedRatio : undefined;
      }),
    ),
    pacewatch_stalled_at_timestamp_seconds: gauge(
      "When the upstream is stalled unless a poll ends before: a minute after its third slot without a poll. Slots that the upstream or a quota asked to skip begin the count anew, and so does a new schedule; the first silence of a new budget is added.",
      one(({ stalledAtMs }) => seconds(stalledAtMs)),
    ),
    pacewatch_tls_certificate_expiry_timestamp_seconds: gauge(
      "When the earliest to expire of the certificates in the chain does; absent until one was seen.",
      one(({ accounts, upstream }) => seconds(accounts.certificateExpiresAtMs(upstream.url))),
    ),
    pacewatch_objective_ratio: gauge(
      "Availability objective from the config: the share of the watched time that should be ok.",
      one(({ upstream }) => upstream.objective.availability),
    ),
    pacewatch_objective_latency_seconds: gauge(
      "Latency objective from the config.",
      one(({ upstream }) => seconds(upstream.objective.latencyMs)),
    ),
  },
  budget: {
    pacewatch_budget_limit_requests: gauge(
      "Requests that the upstream's owner allows within the period.",
      eachRate(({ limit }) => limit),
    ),
    pacewatch_budget_cap_requests: gauge(
      "Requests that Pacewatch allows itself within the period: its share of the limit, less when told.",
      eachRate(({ cap }) => cap),
    ),
    pacewatch_budget_leases: gauge(
      "Leases that are held now: each is the right to one request, kept until it can no longer count.",
      eachRate(({ leases }) => leases),
    ),
  },
  process: {
    pacewatch_offline_upstreams: gauge(
      "Upstreams that cannot be reached because Pacewatch itself is offline; 0 while any upstream answers.",
      one(({ offlineUpstreams }) => offlineUpstreams),
    ),
    pacewatch_config_last_reload_successful: gauge(
      "1 when the last load of the config succeeded, 0 when the old one runs on.",
      one(({ reload }) => reload.successful),
    ),
    pacewatch_config_last_reload_success_timestamp_seconds: gauge(
      "When the config was last loaded with success.",
      one(({ reload }) => seconds(reload.lastSuccessAtMs)),
    ),
    pacewatch_build_info: gauge("Always 1: the versions of Pacewatch and of Node.js.", ({ build }, add) =>
      add(1, build),
    ),
  },
};

function eachRate(
  read: (rate: BudgetSnapshot["rates"][number]) => number,
): (budget: BudgetSnapshot, add: Add) => void {
  return ({ rates }, add) => {
    for (const rate of rates) add(read(rate), { per: rate.label });
  };
}

function ownLabels({ labels, links }: Upstream): Labels {
  if (links === undefined) return labels;
  const linked = Object.entries(links).map(([name, url]) => [LINK_LABEL + name, url]);
  return { ...labels, ...Object.fromEntries(linked) };
}
