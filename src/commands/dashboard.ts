import type { DashboardOptions } from "../pack/dashboard/dashboard.ts";
import { type CommandIo, loadOrRefuse } from "./loading.ts";

/** Prints a Grafana dashboard. It fits every config; from this one it takes the address of the status page. */
export async function dashboard(options: CommandIo & DashboardOptions): Promise<number> {
  const loaded = await loadOrRefuse(options, "structure");
  if (loaded === undefined) return 1;
  const { runbooks, statusPage = `http://localhost:${loaded.config.web.port}/` } = options;
  // Only here: the daemon has no use for the dashboard's library.
  const { dashboardText } = await import("../pack/dashboard/dashboard.ts");
  options.out(dashboardText({ runbooks, statusPage }));
  return 0;
}
