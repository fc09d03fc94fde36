import type * as cog from "@grafana/grafana-foundation-sdk/cog";
import * as common from "@grafana/grafana-foundation-sdk/common";
import type * as grafana from "@grafana/grafana-foundation-sdk/dashboard";
import * as heatmap from "@grafana/grafana-foundation-sdk/heatmap";
import * as prometheus from "@grafana/grafana-foundation-sdk/prometheus";
import { WITHIN_LATENCY_SHARE } from "../../src/features/history/availability.ts";
import { DASHED, dress, lines, stacked, UPSTREAM } from "./panel.ts";

const RUNBOOK = "PacewatchLatencyObjectiveMissed";

export function latencyPanels(): readonly cog.Builder<grafana.Panel>[] {
  return [
    dress(
      new heatmap.PanelBuilder(),
      {
        title: "How long polls take",
        description: "The polls that were ok.",
        unit: "short",
        runbook: RUNBOOK,
        span: 12,
      },
      [
        {
          expr: `sum by (le) (increase(pacewatch_poll_duration_seconds_bucket{outcome="ok",${UPSTREAM}}[$__rate_interval]))
or sum(increase(pacewatch_poll_duration_seconds{outcome="ok",${UPSTREAM}}[$__rate_interval]))`,
          legend: "{{le}}",
          format: prometheus.PromQueryFormat.Heatmap,
          hasExemplars: true,
        },
      ],
    )
      .calculate(false)
      .yAxis(new heatmap.YAxisConfigBuilder().unit("s").axisPlacement(common.AxisPlacement.Left))
      .color(
        new heatmap.HeatmapColorOptionsBuilder()
          .mode(heatmap.HeatmapColorMode.Scheme)
          .scheme("Turbo")
          .fill("dark-orange")
          .exponent(0.5)
          .steps(64)
          .reverse(false),
      )
      .cellGap(1)
      .showLegend(),
    lines(
      {
        title: "Latency quantiles",
        description: "Of the ok polls, over 5 minutes, with the latency objective dashed.",
        unit: "s",
        runbook: RUNBOOK,
        span: 12,
      },
      [
        {
          expr: `pacewatch:poll_duration_seconds:quantile5m{${UPSTREAM}}`,
          legend: "{{upstream}}, {{quantile}}",
        },
        { expr: `pacewatch_objective_latency_seconds{${UPSTREAM}}`, legend: "objective of {{upstream}}" },
      ],
    ).overrideByRegexp("/^objective of /", DASHED),
    stacked(
      {
        title: "Where the time goes",
        description:
          "Mean time of a poll, by phase: dns, connect and tls are spent before the request is sent, wait is the upstream working, transfer is its answer.",
        unit: "s",
        runbook: RUNBOOK,
        span: 12,
      },
      [
        {
          expr: `sum by (phase) (rate(pacewatch_poll_phase_duration_seconds_sum{${UPSTREAM}}[$__rate_interval]))
/ on () group_left ()
(sum(rate(pacewatch_polls_total{${UPSTREAM}}[$__rate_interval])) > 0)`,
          legend: "{{phase}}",
        },
      ],
    ),
    lines(
      {
        title: "Polls within the latency objective",
        description: `Of the ok polls, over the last hour. Below ${WITHIN_LATENCY_SHARE * 100}% a ticket is opened.`,
        unit: "percentunit",
        thresholds: ["red", [WITHIN_LATENCY_SHARE, "green"]],
        runbook: RUNBOOK,
        span: 12,
        floats: true,
      },
      [{ expr: `pacewatch:within_latency_objective:ratio1h{${UPSTREAM}}`, legend: "{{upstream}}" }],
    ).max(1),
  ];
}
