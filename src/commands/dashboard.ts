import { readFile } from "node:fs/promises";
import { folderUrl, type LinkOptions } from "./links.ts";
import { type CommandIo, loadOrRefuse } from "../config/command-line.ts";

const DASHBOARD = new URL("../../config/grafana/dashboards/pacewatch.json", import.meta.url);
/** The addresses that stand in it, each as a whole value. */
export const SHIPPED_STATUS_PAGE = "http://localhost:10429/";
export const SHIPPED_RUNBOOKS: string = `${SHIPPED_STATUS_PAGE}runbooks/`;

/** Prints the Grafana dashboard. It fits every config; from this one it takes the address of the status page. */
export async function dashboard(options: CommandIo & LinkOptions): Promise<number> {
  const loaded = await loadOrRefuse(options, "structure");
  if (loaded === undefined) return 1;
  const { pageUrl, listen } = loaded.config.web;
  const { statusPage = pageUrl ?? `http://localhost:${listen.port}/` } = options;
  const { runbooks = `${folderUrl(statusPage)}runbooks/` } = options;
  const addresses = new Map<unknown, string>([
    [SHIPPED_RUNBOOKS, folderUrl(runbooks)],
    [SHIPPED_STATUS_PAGE, statusPage],
  ]);
  const withAddresses = (_: string, value: unknown): unknown => addresses.get(value) ?? value;
  const shown: unknown = JSON.parse(await readFile(DASHBOARD, "utf8"), withAddresses);
  options.out(`${JSON.stringify(shown, undefined, 2)}\n`);
  return 0;
}
