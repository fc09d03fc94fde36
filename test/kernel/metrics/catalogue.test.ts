import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { DURATION_BOUNDS } from "../../../src/kernel/metrics/accounts.ts";
import { CLOSED_LABELS, METRICS } from "../../../src/kernel/metrics/catalogue.ts";
import { metricsPage } from "../../../tools/docs-metrics.ts";

/** What dashboards and alerts of strangers rely on. A change here breaks them. */
const CONTRACT = `
gauge     pacewatch_upstream_info upstream,budget
counter   pacewatch_slots_total upstream
gauge     pacewatch_polls_in_flight upstream
counter   pacewatch_polls_total upstream,outcome
counter   pacewatch_poll_reasons_total upstream,outcome,reason
counter   pacewatch_polls_skipped_total upstream,cause
counter   pacewatch_polls_within_objective_total upstream
counter   pacewatch_upstream_watched_seconds_total upstream,outcome
counter   pacewatch_responses_total upstream,code
histogram pacewatch_poll_duration_seconds upstream,outcome
summary   pacewatch_poll_phase_duration_seconds upstream,phase
histogram pacewatch_stream_first_event_seconds upstream
histogram pacewatch_stream_longest_gap_seconds upstream
summary   pacewatch_poll_delay_seconds upstream
gauge     pacewatch_poll_delay_max_seconds upstream
gauge     pacewatch_upstream_up upstream
gauge     pacewatch_upstream_state upstream,state
gauge     pacewatch_last_poll_timestamp_seconds upstream
gauge     pacewatch_last_success_timestamp_seconds upstream
gauge     pacewatch_schedule_period_seconds upstream
gauge     pacewatch_schedule_watched_ratio upstream
gauge     pacewatch_stalled_at_timestamp_seconds upstream
gauge     pacewatch_tls_certificate_expiry_timestamp_seconds upstream
gauge     pacewatch_upstream_deprecation_timestamp_seconds upstream
gauge     pacewatch_upstream_sunset_timestamp_seconds upstream
gauge     pacewatch_upstream_value upstream,name,unit
gauge     pacewatch_upstream_value_timestamp_seconds upstream,name
gauge     pacewatch_upstream_value_readable upstream,name
gauge     pacewatch_upstream_credit_burn_per_second upstream,name,window
gauge     pacewatch_upstream_credit_empty_timestamp_seconds upstream,name,window
gauge     pacewatch_objective_ratio upstream
gauge     pacewatch_objective_latency_seconds upstream
counter   pacewatch_spend_total upstream,currency
counter   pacewatch_signals_malformed_total upstream
gauge     pacewatch_budget_limit_requests budget,per
gauge     pacewatch_budget_cap_requests budget,per
gauge     pacewatch_budget_leases budget,per
gauge     pacewatch_budget_advertised_limit_requests budget
gauge     pacewatch_budget_advertised_remaining_requests budget
gauge     pacewatch_budget_paused_until_timestamp_seconds budget
gauge     pacewatch_budget_quota_limit_requests budget
gauge     pacewatch_budget_quota_used_requests budget
gauge     pacewatch_budget_quota_unconfirmed_requests budget
gauge     pacewatch_budget_quota_forecast_requests budget
gauge     pacewatch_budget_spend_limit budget,currency
gauge     pacewatch_budget_spend_used budget,currency
gauge     pacewatch_budget_spend_forecast budget,currency
gauge     pacewatch_budget_quota_burn_per_second budget,quota,window
gauge     pacewatch_budget_quota_empty_timestamp_seconds budget,quota,window
gauge     pacewatch_state_store_up
gauge     pacewatch_state_lost_timestamp_seconds
gauge     pacewatch_offline_upstreams
gauge     pacewatch_leader
gauge     pacewatch_lock_up
gauge     pacewatch_config_info digest
counter   pacewatch_notifications_total receiver,outcome
gauge     pacewatch_notifications_oldest_pending_seconds receiver
gauge     pacewatch_config_last_reload_successful
gauge     pacewatch_config_last_reload_success_timestamp_seconds
gauge     pacewatch_build_info version,node
`;

test("the names, types and labels are those that were promised, and no others", () => {
  const lines = METRICS.map(({ name, type, labels }) => {
    return `${type.padEnd(9)} ${name} ${labels.join(",")}`.trim();
  });
  expect(lines).toEqual(CONTRACT.trim().split("\n"));
});

test("the buckets of durations are those that were promised", () => {
  expect(DURATION_BOUNDS).toEqual([0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]);
});

test("a label with a closed set of values names each once", () => {
  for (const [label, values] of Object.entries(CLOSED_LABELS)) {
    expect(new Set(values).size, `label ${label}`).toBe(values.length);
  }
  const ofMessages = ["delivered", "refused"];
  expect(CLOSED_LABELS["outcome"]).toEqual(["ok", "failed", "throttled", "rejected", "ours", ...ofMessages]);
});

test("the page about the metrics tells what the catalogue tells", () => {
  expect(readFileSync("docs/metrics.md", "utf8"), "stale: run node tools/docs-metrics.ts").toBe(
    metricsPage(),
  );
});
