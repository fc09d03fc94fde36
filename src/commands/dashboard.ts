import { formatFault } from "../config/read/fault.ts";
import { load } from "../config/load.ts";
import type { DashboardOptions } from "../pack/dashboard/dashboard.ts";
import type { CommandIo } from "./command-io.ts";

export type DashboardCommand = Omit<CommandIo, "json"> & DashboardOptions;

/** Prints a Grafana dashboard. It fits every config; from this one it takes where the status page is. */
export async function dashboard(options: DashboardCommand): Promise<number> {
  const { configPath, environment, runbooks, out, err } = options;
  const loading = await load(configPath, { environment, resolve: "structure" });
  if (loading.kind === "refused") {
    for (const fault of loading.faults) err(`${formatFault(fault)}\n`);
    return 1;
  }
  const statusPage = options.statusPage ?? `http://localhost:${loading.config.web.port}/`;
  // Only here: the daemon has no use for the dashboard's library.
  const { dashboardText } = await import("../pack/dashboard/dashboard.ts");
  out(dashboardText({ runbooks, statusPage }));
  return 0;
}
