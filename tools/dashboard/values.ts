import type * as cog from "@grafana/grafana-foundation-sdk/cog";
import type * as grafana from "@grafana/grafana-foundation-sdk/dashboard";
import { lines, ofBudgets, PROCESS, UPSTREAM } from "./panel.ts";

export function valuePanels(): readonly cog.Builder<grafana.Panel>[] {
  return [
    lines(
      {
        title: "Values",
        description:
          "Numbers that the answers tell, as `values` in the config names them: what is left of a credit, for example. A gap means that the answers did not tell it.",
        unit: "short",
        runbook: "PacewatchCreditEnding",
        span: 12,
        floats: true,
      },
      [{ expr: `pacewatch_upstream_value{${UPSTREAM}}`, legend: "{{upstream}} {{name}} {{unit}}" }],
    ),
    lines(
      {
        title: "Credit and quotas are empty in",
        description:
          "By the worst pace of the last hour, day and week. Under 3 days somebody should know, under 6 hours it is urgent. A quota that refills before its end has no line, nor has a credit that lasts for more than a year.",
        unit: "s",
        thresholds: ["red", [6 * 3600, "orange"], [3 * 86_400, "green"]],
        runbook: "PacewatchCreditEnding",
        span: 12,
      },
      [
        {
          expr: `min by (job, instance, upstream, name) (pacewatch_upstream_credit_empty_timestamp_seconds{${UPSTREAM}}) - time()`,
          legend: "{{upstream}} {{name}}",
        },
        {
          expr: ofBudgets(
            `min by (job, instance, budget, quota) (pacewatch_budget_quota_empty_timestamp_seconds{${PROCESS}}) - time()`,
          ),
          legend: "quota of {{budget}}, {{quota}}",
        },
      ],
    ),
  ];
}
