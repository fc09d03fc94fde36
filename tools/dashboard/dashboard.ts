import type * as cog from "@grafana/grafana-foundation-sdk/cog";
import * as grafana from "@grafana/grafana-foundation-sdk/dashboard";
import { budgetPanels } from "./budgets.ts";
import { fleetPanels } from "./fleet.ts";
import { glancePanels } from "./glance.ts";
import { itselfPanels } from "./itself.ts";
import { latencyPanels } from "./latency.ts";
import { outcomePanels } from "./outcomes.ts";
import { SHIPPED_RUNBOOKS, SHIPPED_STATUS_PAGE } from "../../src/commands/dashboard.ts";
import { DATASOURCE, link, PROCESS } from "./panel.ts";
import { stateChanges } from "./state.ts";
import { valuePanels } from "./values.ts";

const ROWS: readonly (readonly [title: string, panels: () => readonly cog.Builder<grafana.Panel>[]])[] = [
  ["Are my APIs fine?", glancePanels],
  ["Latency", latencyPanels],
  ["Outcomes", outcomePanels],
  ["Budgets", budgetPanels],
  ["Values, credit and quotas", valuePanels],
  ["Fleet", fleetPanels],
  ["Pacewatch itself", itselfPanels],
];

/** A dashboard for Grafana's file provisioning or its import page. */
export function dashboardText(): string {
  return `${JSON.stringify(dashboard(), withoutHiding, 2)}\n`;
}

/** The SDK puts links and annotations into a menu, and has no option to show them. */
function withoutHiding(key: string, value: unknown): unknown {
  return key === "placement" && value === grafana.DashboardLinkPlacement.InControlsMenu ? undefined : value;
}

function dashboard(): grafana.Dashboard {
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
  for (const variable of variables()) builder.withVariable(variable);
  for (const [title, panels] of ROWS) {
    builder.withRow(new grafana.RowBuilder(title));
    for (const panel of panels()) builder.withPanel(panel);
  }
  const { panels = [], ...rest } = builder.build();
  return { ...rest, panels: panels.map((panel, index) => ({ ...panel, id: index + 1 })) };
}

function variables(): readonly cog.Builder<grafana.VariableModel>[] {
  return [
    new grafana.DatasourceVariableBuilder("datasource").label("Data source").type("prometheus"),
    choice("job", "Job", "label_values(pacewatch_build_info, job)"),
    choice("instance", "Instance", `label_values(pacewatch_build_info{job=~"$job"}, instance)`),
    choice("upstream", "Upstream", `label_values(pacewatch_upstream_info{${PROCESS}}, upstream)`),
    address("runbooks", "Runbooks", SHIPPED_RUNBOOKS),
    address("status_page", "Status page", SHIPPED_STATUS_PAGE),
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
      // Matches a series without the label too: what a fleet records has no instance.
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
