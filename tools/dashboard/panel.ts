import * as common from "@grafana/grafana-foundation-sdk/common";
import * as grafana from "@grafana/grafana-foundation-sdk/dashboard";
import * as prometheus from "@grafana/grafana-foundation-sdk/prometheus";
import * as stat from "@grafana/grafana-foundation-sdk/stat";
import * as timeseries from "@grafana/grafana-foundation-sdk/timeseries";

export const DATASOURCE: common.DataSourceRef = { type: "prometheus", uid: "${datasource}" };

/** The dashboard's variables as label matchers. */
export const PROCESS = `job=~"$job",instance=~"$instance"`;
export const UPSTREAM: string = `${PROCESS},upstream=~"$upstream"`;

/** The series of a budget have no upstream label, so they are joined with the selected upstreams. */
export function ofBudgets(series: string): string {
  return `${series} and on (job, instance, budget) pacewatch_upstream_info{${UPSTREAM}}`;
}

export type Query = {
  readonly expr: string;
  /** A Grafana template such as `{{upstream}}`. */
  readonly legend: string;
  readonly instant?: boolean;
  readonly format?: prometheus.PromQueryFormat;
  /** Single polls as dots; the panel leads from each to the page of its poll. */
  readonly hasExemplars?: true;
};

/** A color for small values, then the values from which others start. */
type Thresholds = readonly [color: string, ...steps: (readonly [value: number, color: string])[]];

export type PanelText = {
  readonly title: string;
  /** What it shows, and when to worry. */
  readonly description: string;
  readonly unit: string;
  readonly thresholds?: Thresholds;
  /** The alert with the runbook that says what to do. */
  readonly runbook: string;
  readonly span: number;
  readonly height?: number;
  /** The axis need not start at 0. */
  readonly floats?: boolean;
};

type Dressable = {
  title(title: string): Dressable;
  description(description: string): Dressable;
  datasource(datasource: common.DataSourceRef): Dressable;
  unit(unit: string): Dressable;
  thresholds(thresholds: grafana.ThresholdsConfigBuilder): Dressable;
  links(links: grafana.DashboardLinkBuilder[]): Dressable;
  dataLinks(links: grafana.DashboardLinkBuilder[]): Dressable;
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

/** Lines over time, and the thresholds as dashed lines. */
export function lines(text: PanelText, queries: readonly Query[]): timeseries.PanelBuilder {
  const hasThreshold = text.thresholds !== undefined;
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

/** For a limit or an objective. */
export const DASHED: grafana.DynamicConfigValue[] = [
  { id: "custom.lineStyle", value: { fill: "dash", dash: [8, 8] } },
  { id: "custom.fillOpacity", value: 0 },
];

/** Parts of a whole, on top of each other. */
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

export const YES_IF_1: grafana.ValueMap = {
  type: grafana.MappingType.ValueToText,
  options: { 0: { text: "no", color: "red", index: 0 }, 1: { text: "yes", color: "green", index: 1 } },
};

/** Only the newest value of each series. */
export function newest(): common.ReduceDataOptionsBuilder {
  return new common.ReduceDataOptionsBuilder().calcs(["lastNotNull"]).values(false);
}

/** The newest value of each series as a big number on a colored background. */
export function numbers(text: PanelText, queries: readonly Query[]): stat.PanelBuilder {
  return dress(new stat.PanelBuilder(), text, queries)
    .reduceOptions(newest())
    .graphMode(common.BigValueGraphMode.None)
    .colorMode(common.BigValueColorMode.Background);
}

/** Grafana names the queries of a panel A, B, C … */
export function refId(index: number): string {
  return String.fromCharCode(65 + index);
}

function thresholdsOf([color, ...steps]: Thresholds = ["text"]): grafana.ThresholdsConfigBuilder {
  return new grafana.ThresholdsConfigBuilder()
    .mode(grafana.ThresholdsMode.Absolute)
    .steps([{ value: null, color }, ...steps.map(([value, color]) => ({ value, color }))]);
}

function target(
  { expr, legend, instant = false, format, hasExemplars }: Query,
  index: number,
): prometheus.DataqueryBuilder {
  const query = new prometheus.DataqueryBuilder()
    .refId(refId(index))
    .datasource(DATASOURCE)
    .expr(expr)
    .legendFormat(legend);
  if (format !== undefined) query.format(format);
  if (hasExemplars === true) query.exemplar(true);
  return instant ? query.instant() : query.range();
}
