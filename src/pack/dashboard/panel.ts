/** What every panel has: a question, an answer's unit and thresholds, and a way on from here. */

import * as common from "@grafana/grafana-foundation-sdk/common";
import * as grafana from "@grafana/grafana-foundation-sdk/dashboard";
import * as prometheus from "@grafana/grafana-foundation-sdk/prometheus";
import * as timeseries from "@grafana/grafana-foundation-sdk/timeseries";

export const DATASOURCE: common.DataSourceRef = { type: "prometheus", uid: "${datasource}" };

/** The matchers that the variables fill in. */
export const PROCESS = `job=~"$job",instance=~"$instance"`;
export const UPSTREAM: string = `${PROCESS},upstream=~"$upstream"`;

/** A budget's series carry no upstream: those whose upstreams are chosen are asked for. */
export function ofBudgets(series: string): string {
  return `${series} and on (job, instance, budget) pacewatch_upstream_info{${UPSTREAM}}`;
}

export type Query = {
  readonly expr: string;
  /** In Grafana's template: `{{upstream}}`. */
  readonly legend: string;
  readonly instant?: boolean;
  readonly format?: prometheus.PromQueryFormat;
};

/** Colours from a value on; what is below the first is `below`. */
export type Thresholds = {
  readonly below: string;
  readonly from?: readonly (readonly [value: number, color: string])[];
};

export type PanelText = {
  readonly title: string;
  /** What it shows, and when to worry. */
  readonly description: string;
  readonly unit: string;
  readonly thresholds: Thresholds;
  /** The alert whose runbook says what to do. */
  readonly runbook: string;
  readonly span: number;
  readonly height?: number;
  /** Where 0 is not of interest. */
  readonly floats?: boolean;
};

type Dressable = {
  title(title: string): Dressable;
  description(description: string): Dressable;
  datasource(datasource: common.DataSourceRef): Dressable;
  unit(unit: string): Dressable;
  thresholds(thresholds: grafana.ThresholdsConfigBuilder): Dressable;
  links(links: grafana.DashboardLinkBuilder[]): Dressable;
  span(width: number): Dressable;
  height(height: number): Dressable;
  withTarget(target: prometheus.DataqueryBuilder): Dressable;
};

export function dress<Panel extends Dressable>(
  panel: Panel,
  text: PanelText,
  queries: readonly Query[],
): Panel {
  panel.title(text.title);
  panel.description(text.description);
  panel.datasource(DATASOURCE);
  panel.unit(text.unit);
  panel.thresholds(thresholdsOf(text.thresholds));
  panel.links([
    link(`Runbook: ${text.runbook}`, `\${runbooks:raw}${text.runbook}.md`),
    link("Status page", "${status_page:raw}"),
  ]);
  panel.span(text.span);
  panel.height(text.height ?? 8);
  for (const [index, query] of queries.entries()) panel.withTarget(target(query, index));
  return panel;
}

/** Lines over time, with the threshold drawn where there is one. */
export function lines(text: PanelText, queries: readonly Query[]): timeseries.PanelBuilder {
  const hasThreshold = text.thresholds.from !== undefined;
  const panel = dress(new timeseries.PanelBuilder(), text, queries);
  if (text.floats !== true) panel.min(0);
  return panel
    .lineWidth(1)
    .fillOpacity(8)
    .showPoints(common.VisibilityMode.Never)
    .legend(
      new common.VizLegendOptionsBuilder()
        .displayMode(common.LegendDisplayMode.List)
        .placement(common.LegendPlacement.Bottom)
        .showLegend(true),
    )
    .tooltip(new common.VizTooltipOptionsBuilder().mode(common.TooltipDisplayMode.Multi))
    .thresholdsStyle(
      new common.GraphThresholdsStyleConfigBuilder().mode(
        hasThreshold ? common.GraphThresholdsStyleMode.Dashed : common.GraphThresholdsStyleMode.Off,
      ),
    );
}

/** A limit or an objective: no area under it. */
export const DASHED: grafana.DynamicConfigValue[] = [
  { id: "custom.lineStyle", value: { fill: "dash", dash: [8, 8] } },
  { id: "custom.fillOpacity", value: 0 },
];

/** Parts of a whole, one on the other. */
export function stacked(text: PanelText, queries: readonly Query[]): timeseries.PanelBuilder {
  return lines(text, queries)
    .fillOpacity(40)
    .stacking(new common.StackingConfigBuilder().mode(common.StackingMode.Normal));
}

export function link(title: string, url: string): grafana.DashboardLinkBuilder {
  return new grafana.DashboardLinkBuilder(title)
    .type(grafana.DashboardLinkType.Link)
    .url(url)
    .targetBlank(true);
}

/** The newest value of each series. */
export function newest(): common.ReduceDataOptionsBuilder {
  return new common.ReduceDataOptionsBuilder().calcs(["lastNotNull"]).values(false);
}

function thresholdsOf({ below, from = [] }: Thresholds): grafana.ThresholdsConfigBuilder {
  return new grafana.ThresholdsConfigBuilder()
    .mode(grafana.ThresholdsMode.Absolute)
    .steps([{ value: null, color: below }, ...from.map(([value, color]) => ({ value, color }))]);
}

function target(
  { expr, legend, instant = false, format }: Query,
  index: number,
): prometheus.DataqueryBuilder {
  const query = new prometheus.DataqueryBuilder()
    .refId(String.fromCharCode(65 + index))
    .datasource(DATASOURCE)
    .expr(expr)
    .legendFormat(legend);
  if (format !== undefined) query.format(format);
  return instant ? query.instant() : query.range();
}
