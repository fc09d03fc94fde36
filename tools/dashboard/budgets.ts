import type * as cog from "@grafana/grafana-foundation-sdk/cog";
import type * as grafana from "@grafana/grafana-foundation-sdk/dashboard";
import { DASHED, lines, ofBudgets, PROCESS, type Query, UPSTREAM } from "./panel.ts";

export function budgetPanels(): readonly cog.Builder<grafana.Panel>[] {
  return [
    lines(
      {
        title: "Leases against cap and limit",
        description:
          "A lease is the right to send one request, held until the request can no longer count. Leases never exceed the cap, our share of the limit; at the cap, slots are skipped.",
        unit: "short",
        runbook: "PacewatchSlotsSkipped",
        span: 12,
      },
      [
        ofBudget("pacewatch_budget_leases", "{{budget}} leases, {{per}}"),
        ofBudget("pacewatch_budget_cap_requests", "cap of {{budget}}, {{per}}"),
        ofBudget("pacewatch_budget_limit_requests", "limit of {{budget}}, {{per}}"),
      ],
    ).overrideByRegexp("/^(cap|limit) of /", DASHED),
    lines(
      {
        title: "Advertised remaining",
        description:
          "How much of its limit the upstream last said is left, for all users of the key. Near 0, production is about to be throttled, and Pacewatch polls less.",
        unit: "short",
        runbook: "PacewatchThrottled",
        span: 12,
      },
      [
        ofBudget("pacewatch_budget_advertised_remaining_requests", "{{budget}} remaining"),
        ofBudget("pacewatch_budget_advertised_limit_requests", "limit of {{budget}}"),
      ],
    ).overrideByRegexp("/^limit of /", DASHED),
    lines(
      {
        title: "Pauses",
        description: "How much longer polls pause because the upstream requested it; 0 without a pause.",
        unit: "s",
        thresholds: ["green", [600, "orange"]],
        runbook: "PacewatchThrottled",
        span: 12,
      },
      [
        {
          expr: ofBudgets(
            `clamp_min(pacewatch_budget_paused_until_timestamp_seconds{${PROCESS}} - time(), 0)`,
          ),
          legend: "{{budget}}",
        },
      ],
    ),
    lines(
      {
        title: "Quota and forecast",
        description:
          "Requests that the schedules make in 30 days and, for budgets with a quota of their own, what is used, allowed and needed in its period. A forecast above the limit means that polls stop before the period ends.",
        unit: "short",
        runbook: "PacewatchQuotaNearlySpent",
        span: 12,
      },
      [
        {
          expr: `sum by (job, instance, budget) (pacewatch_upstream_info{${UPSTREAM}} * on (job, instance, upstream) group_left () ((30 * 86400 * pacewatch_schedule_watched_ratio{${UPSTREAM}} or 30 * 86400 + 0 * pacewatch_schedule_period_seconds{${UPSTREAM}}) / pacewatch_schedule_period_seconds{${UPSTREAM}}))`,
          legend: "{{budget}} in 30 days",
        },
        ofBudget("pacewatch_budget_quota_used_requests", "{{budget}} used"),
        ofBudget("pacewatch_budget_quota_forecast_requests", "{{budget}} forecast"),
        ofBudget("pacewatch_budget_quota_limit_requests", "limit of {{budget}}"),
      ],
    ).overrideByRegexp("/^limit of /", DASHED),
  ];
}

function ofBudget(metric: string, legend: string): Query {
  return { expr: ofBudgets(`${metric}{${PROCESS}}`), legend };
}
