import * as bargauge from "@grafana/grafana-foundation-sdk/bargauge";
import * as common from "@grafana/grafana-foundation-sdk/common";
import type * as cog from "@grafana/grafana-foundation-sdk/cog";
import type * as grafana from "@grafana/grafana-foundation-sdk/dashboard";
import * as statetimeline from "@grafana/grafana-foundation-sdk/statetimeline";
import { DASHED, dress, lines, newest, numbers, PROCESS, UPSTREAM } from "./panel.ts";
import { STATE_CODE, STATE_WORDS } from "./state.ts";

export function glancePanels(): readonly cog.Builder<grafana.Panel>[] {
  return [
    dress(
      new statetimeline.PanelBuilder(),
      {
        title: "State of each upstream",
        description:
          "Up, degraded (slow), throttled (it asks us to slow down), unauthorized (it rejects our key), down (confirmed), or unknown (not polled). Only red is an outage of the upstream.",
        unit: "none",
        runbook: "PacewatchUpstreamDown",
        span: 18,
      },
      [{ expr: STATE_CODE, legend: "{{upstream}}" }],
    )
      .mappings([STATE_WORDS])
      .mergeValues(true)
      .showValue(common.VisibilityMode.Auto)
      .fillOpacity(80),
    numbers(
      {
        title: "Now",
        description: "The current state of each upstream.",
        unit: "none",
        runbook: "PacewatchUpstreamDown",
        span: 3,
      },
      [{ expr: STATE_CODE, legend: "{{upstream}}", instant: true }],
    )
      .mappings([STATE_WORDS])
      .textMode(common.BigValueTextMode.ValueAndName),
    numbers(
      {
        title: "Alerts firing",
        description: "By severity. A page is for now, a ticket for the next working day.",
        unit: "none",
        thresholds: ["green", [1, "red"]],
        runbook: "README",
        span: 3,
      },
      ["page", "ticket"].map((severity) => ({
        expr: `count(ALERTS{alertname=~"Pacewatch.*",alertstate="firing",severity="${severity}",${PROCESS}}) or vector(0)`,
        legend: severity,
        instant: true,
      })),
    ).textMode(common.BigValueTextMode.ValueAndName),
    lines(
      {
        title: "Availability against objective",
        description:
          "The part of the watched time that was ok, over the last hour and the last 30 days, with the objective and the watched part of the 30 days dashed: where little was watched, it says little. What is throttled, rejected, skipped or ours says nothing about it.",
        unit: "percentunit",
        runbook: "PacewatchErrorBudgetBurning",
        span: 10,
        floats: true,
      },
      [
        { expr: `pacewatch:availability:ratio1h{${UPSTREAM}}`, legend: "{{upstream}}, 1h" },
        { expr: `pacewatch:availability:ratio30d{${UPSTREAM}}`, legend: "{{upstream}}, 30d" },
        { expr: `pacewatch_objective_ratio{${UPSTREAM}}`, legend: "objective of {{upstream}}" },
        { expr: `pacewatch:watched:ratio30d{${UPSTREAM}}`, legend: "watched of {{upstream}}, 30d" },
      ],
    )
      .max(1)
      .overrideByRegexp("/^(objective|watched) of /", DASHED),
    dress(
      new bargauge.PanelBuilder(),
      {
        title: "Error budget left",
        description:
          "The share of failing time that the objective still allows in 30 days. At 0 it is used up. What was not watched, or is still to come, burns nothing.",
        unit: "percentunit",
        thresholds: ["red", [0, "orange"], [0.25, "green"]],
        runbook: "PacewatchErrorBudgetBurning",
        span: 6,
      },
      [{ expr: `pacewatch:error_budget_left:ratio30d{${UPSTREAM}}`, legend: "{{upstream}}", instant: true }],
    )
      .min(0)
      .max(1)
      .reduceOptions(newest())
      .displayMode(common.BarGaugeDisplayMode.Basic)
      .orientation(common.VizOrientation.Horizontal),
    lines(
      {
        title: "Error budget burn rate",
        description:
          "How many times faster than the objective allows. 14.4 over 1 hour and 6 over 6 hours page, if the short window agrees and enough slots failed.",
        unit: "suffix:×",
        thresholds: ["green", [6, "orange"], [14.4, "red"]],
        runbook: "PacewatchErrorBudgetBurning",
        span: 8,
      },
      ["1h", "6h"].map((window) => ({
        expr: `pacewatch:error_budget_burn:${window}{${UPSTREAM}}`,
        legend: `{{upstream}}, ${window}`,
      })),
    ),
  ];
}
