import type * as cog from "@grafana/grafana-foundation-sdk/cog";
import * as grafana from "@grafana/grafana-foundation-sdk/dashboard";
import { budgetPanels } from "./budgets.ts";
import { fleetPanels } from "./fleet.ts";
import { glancePanels } from "./glance.ts";
import { itselfPanels } from "./itself.ts";
import { latencyPanels } from "./latency.ts";
import { outcomePanels } from "./outcomes.ts";
import { DATASOURCE, link, PROCESS } from "./panel.ts";
import { folderUrl } from "../rules/rule.ts";
import { stateChanges } from "./state.ts";
import { valuePanels } from "./values.ts";

export type DashboardOptions = {
  /** The URL of the folder with the runbooks. */
  readonly runbooks?: string | undefined;
  /** The URL of Pacewatch's status page. */
  readonly statusPage?: string | undefined;
};

const ROWS: readonly (readonly [title: string, panels: () => readonly cog.Builder<grafana.Panel>[]])[] = [
  ["Are my APIs fine?", glancePanels],
  ["Latency", latencyPanels],
  ["Outcomes", outcomePanels],
  ["Budgets", budgetPanels],
  ["Values, credit and quotas", valuePanels],
  ["Fleet and Redis", fleetPanels],
  ["Pacewatch itself", itselfPanels],
];

/** A dashboard for Grafana's file provisioning or its import page. */
export function dashboardText(options: DashboardOptions = {}): string {
  return `${JSON.stringify(dashboard(options), withoutHiding, 2)}\n`;
}

/** The SDK puts links and annotations into a menu, and has no option to show them. */
function withoutHiding(key: string, value: unknown): unknown {
  return key === "placement" && value === grafana.DashboardLinkPlacement.InControlsMenu ? undefined : value;
}

function dashboard({
  runbooks = "http://localhost:9090/user/runbooks/",
  statusPage = "http://localhost:10429/",
}: DashboardOptions): grafana.Dashboard {
  const builder = new grafana.DashboardBuilder("Pacewatch")
    .uid("pacewatch")
    .description("Third-party APIs, watched from the caller's side.")
    .tags(["pacewatch"])
    .readonly()
    .time({ from: "now-1h", to: "now" })
    .refresh("30s")
    .tooltip(grafana.DashboardCursorSync.Crosshair)
    .link(link("Runbooks", "${runbooks:raw}README.md"))
    .link(link("Status page", "${status_page:raw}"))
    .annotation(stateChanges(DATASOURCE));
  for (const variable of variables(folderUrl(runbooks), statusPage)) builder.withVariable(variable);
  for (const [title, panels] of ROWS) {
    builder.withRow(new grafana.RowBuilder(title));
    for (const panel of panels()) builder.withPanel(panel);
  }
  const { panels = [], ...rest } = builder.build();
  return { ...rest, panels: panels.map((panel, index) => ({ ...panel, id: index + 1 })) };
}

function variables(runbooks: string, statusPage: string): readonly cog.Builder<grafana.VariableModel>[] {
  return [
    new grafana.DatasourceVariableBuilder("datasource").label("Data source").type("prometheus"),
    choice("job", "Job", "label_values(pacewatch_build_info, job)"),
    choice("instance", "Instance", `label_values(pacewatch_build_info{job=~"$job"}, instance)`),
    choice("upstream", "Upstream", `label_values(pacewatch_upstream_info{${PROCESS}}, upstream)`),
    address("runbooks", "Runbooks", runbooks),
    address("status_page", "Status page", statusPage),
  ];
}

function choice(name: string, label: string, query: string): grafana.QueryVariableBuilder {
  return (
    new grafana.QueryVariableBuilder(name)
      .label(label)
      .datasource(DATASOURCE)
      .query({ query, refId: name })
      .definition(query)
      .refresh(grafana.VariableRefresh.OnTimeRangeChanged)
      .sort(grafana.VariableSort.AlphabeticalAsc)
      .multi(true)
      .includeAll(true)
      // Matches a series without the label too: what a shard fleet records has no instance.
      .allValue(".*")
      .current({ selected: true, text: ["All"], value: ["$__all"] })
  );
}

function address(name: string, label: string, value: string): grafana.TextBoxVariableBuilder {
  return new grafana.TextBoxVariableBuilder(name)
    .label(label)
    .defaultValue(value)
    .current({ selected: true, text: value, value })
    .options([{ selected: true, text: value, value }]);
}
