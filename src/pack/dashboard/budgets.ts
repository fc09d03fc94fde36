import type * as cog from "@grafana/grafana-foundation-sdk/cog";
import type * as grafana from "@grafana/grafana-foundation-sdk/dashboard";
import { DASHED, lines, ofBudgets, PROCESS, UPSTREAM } from "./panel.ts";

export function budgetPanels(): readonly cog.Builder<grafana.Panel>[] {
  return [leases(), advertised(), pauses(), quota()];
}

function leases(): cog.Builder<grafana.Panel> {
  return lines(
    {
      title: "Leases against cap and limit",
      description:
        "Each lease is the right to one request, held until it can no longer count. They never exceed the cap, our share of the limit; at the cap, slots are skipped.",
      unit: "short",
      thresholds: { below: "text" },
      runbook: "PacewatchSlotsSkipped",
      span: 12,
    },
    [
      budgetQuery("pacewatch_budget_leases", "{{budget}} leases, {{per}}"),
      budgetQuery("pacewatch_budget_cap_requests", "cap of {{budget}}, {{per}}"),
      budgetQuery("pacewatch_budget_limit_requests", "limit of {{budget}}, {{per}}"),
    ],
  ).overrideByRegexp("/^(cap|limit) of /", DASHED);
}

function advertised(): cog.Builder<grafana.Panel> {
  return lines(
    {
      title: "Advertised remaining",
      description:
        "What the upstream last said is left of its limit, for all who use the key. Near 0, production is about to be refused, and Pacewatch yields.",
      unit: "short",
      thresholds: { below: "text" },
      runbook: "PacewatchThrottled",
      span: 12,
    },
    [
      budgetQuery("pacewatch_budget_advertised_remaining_requests", "{{budget}} remaining"),
      budgetQuery("pacewatch_budget_advertised_limit_requests", "limit of {{budget}}"),
    ],
  ).overrideByRegexp("/^limit of /", DASHED);
}

function pauses(): cog.Builder<grafana.Panel> {
  return lines(
    {
      title: "Pauses",
      description: "How much longer the upstream asked for silence; 0 when it does not.",
      unit: "s",
      thresholds: { below: "green", from: [[600, "orange"]] },
      runbook: "PacewatchThrottled",
      span: 12,
    },
    [
      {
        expr: ofBudgets(`clamp_min(pacewatch_budget_paused_until_timestamp_seconds{${PROCESS}} - time(), 0)`),
        legend: "{{budget}}",
      },
    ],
  );
}

function quota(): cog.Builder<grafana.Panel> {
  return lines(
    {
      title: "Quota and forecast",
      description:
        "Requests that the schedules make in 30 days, and, for budgets with a quota of their own: used, allowed, and what its period will take. What is above its limit stops before the period ends.",
      unit: "short",
      thresholds: { below: "text" },
      runbook: "PacewatchQuotaNearlySpent",
      span: 12,
    },
    [
      {
        expr: `sum by (job, instance, budget) (30 * 86400 / pacewatch_schedule_period_seconds{${UPSTREAM}} * on (job, instance, upstream) group_left (budget) pacewatch_upstream_info{${UPSTREAM}})`,
        legend: "{{budget}} in 30 days",
      },
      budgetQuery("pacewatch_budget_quota_used_requests", "{{budget}} used"),
      budgetQuery("pacewatch_budget_quota_forecast_requests", "{{budget}} forecast"),
      budgetQuery("pacewatch_budget_quota_limit_requests", "limit of {{budget}}"),
    ],
  ).overrideByRegexp("/^limit of /", DASHED);
}

function budgetQuery(metric: string, legend: string): { readonly expr: string; readonly legend: string } {
  return { expr: ofBudgets(`${metric}{${PROCESS}}`), legend };
}
