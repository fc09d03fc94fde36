import { CATALOGUE, OUTCOME_KINDS, type UpstreamMetric } from "./catalogue.ts";
import { PHASES } from "../exchange/exchange.ts";
import { HEALTH_STATES } from "../poll/health.ts";
import { POLL_OUTCOME_LABELS, SKIP_CAUSES } from "../exchange/outcome.ts";
import { all, each, flag, histogram, labelText, one, seconds, type Labels, type SeriesOf } from "./series.ts";
import type { UpstreamSnapshot } from "./snapshot.ts";
import { CODE_LABELS, codeLabel } from "./status-codes.ts";

/** The type asks for every metric of the catalogue that belongs to an upstream, and for no other. */
export const UPSTREAM_SERIES: Readonly<Record<UpstreamMetric, SeriesOf<UpstreamSnapshot>>> = {
  pacewatch_upstream_info: ({ upstream }) => [
    {
      suffix: "",
      labels: labelText([["budget", upstream.budget], ...ownLabels(upstream.labels)]),
      read: () => 1,
    },
  ],
  pacewatch_slots_total: one(({ accounts }) => accounts.slots),
  pacewatch_slots_waiting: one(({ accounts }) => accounts.waiting),
  pacewatch_polls_in_flight: one(({ accounts }) => accounts.inFlight),
  pacewatch_polls_total: all(
    POLL_OUTCOME_LABELS.map(({ outcome, reason }) => ({
      suffix: "",
      labels: labelText(Object.entries({ outcome, reason })),
      read: ({ accounts }) => accounts.polls(outcome, reason),
    })),
  ),
  pacewatch_polls_skipped_total: each("cause", SKIP_CAUSES, ({ accounts }, cause) => accounts.skipped(cause)),
  pacewatch_polls_within_objective_total: one(({ accounts }) => accounts.withinObjective),
  pacewatch_responses_total: each("code", CODE_LABELS, responses),
  pacewatch_poll_duration_seconds: all(
    OUTCOME_KINDS.flatMap((outcome) =>
      histogram(
        CATALOGUE.pacewatch_poll_duration_seconds.buckets,
        [["outcome", outcome]],
        ({ accounts }: UpstreamSnapshot) => accounts.duration(outcome),
      ),
    ),
  ),
  pacewatch_poll_phase_duration_seconds: all(
    PHASES.flatMap((phase) => [
      {
        suffix: "_sum" as const,
        labels: labelText([["phase", phase]]),
        read: ({ accounts }) => accounts.phase(phase)?.sumSeconds,
      },
      {
        suffix: "_count" as const,
        labels: labelText([["phase", phase]]),
        read: ({ accounts }) => accounts.phase(phase)?.count,
      },
    ]),
  ),
  pacewatch_poll_delay_seconds: all(
    histogram(CATALOGUE.pacewatch_poll_delay_seconds.buckets, [], ({ accounts }) => accounts.delay),
  ),
  pacewatch_upstream_up: one(({ health }) => flag(health.up)),
  pacewatch_upstream_state: each("state", HEALTH_STATES, ({ health }, state) => flag(health.state === state)),
  pacewatch_last_poll_timestamp_seconds: one(({ accounts }) => seconds(accounts.lastPollAtMs)),
  pacewatch_last_success_timestamp_seconds: one(({ accounts }) => seconds(accounts.lastSuccessAtMs)),
  pacewatch_next_slot_timestamp_seconds: one(({ nextSlotAtMs }) => seconds(nextSlotAtMs)),
  pacewatch_schedule_period_seconds: one(({ upstream }) => seconds(upstream.schedule.longestGapMs)),
  pacewatch_tls_certificate_expiry_timestamp_seconds: one(({ accounts }) =>
    seconds(accounts.certificateExpiresAtMs),
  ),
  pacewatch_objective_ratio: one(({ upstream }) => upstream.objective.availability),
  pacewatch_objective_latency_seconds: one(({ upstream }) => seconds(upstream.objective.latencyMs)),
  pacewatch_signals_malformed_total: one(({ accounts }) => accounts.malformedSignals),
};

/** An expected code is there from the first second, so that its first answer shows in a rate; others once seen. */
function responses({ accounts, upstream }: UpstreamSnapshot, code: string): number | undefined {
  const count = accounts.responses(code);
  return count > 0 || upstream.expect.status.some((status) => codeLabel(status) === code) ? count : undefined;
}

/** One label that Prometheus cannot read would cost it the whole scrape. */
function ownLabels(labels: Readonly<Record<string, string>>): Labels {
  return Object.entries(labels).filter(
    ([name]) => /^(?!__)[A-Za-z_][A-Za-z0-9_]*$/.test(name) && name !== "upstream" && name !== "budget",
  );
}
