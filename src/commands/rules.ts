import { readFile } from "node:fs/promises";
import { parseDocument, visit, type YAMLMap } from "yaml";
import type { FleetMode } from "../core/config/config.ts";
import { folderUrl, type LinkOptions } from "./links.ts";
import { type CommandIo, loadOrRefuse } from "./loading.ts";

const ONE_PROCESS = new URL("../../config/prometheus/rules.yml", import.meta.url);
const OF_FLEET: Readonly<Record<FleetMode, URL>> = {
  shard: new URL("../../config/prometheus/rules-shard.yml", import.meta.url),
  everywhere: new URL("../../config/prometheus/rules-everywhere.yml", import.meta.url),
};

/** As the files have it, so that what is printed differs from them by the links alone. */
const LINE_CHARACTERS = 110;

/** Prints the Prometheus rules that fit this config: they read metrics, so only the mode of the fleet matters. */
export async function rules(options: CommandIo & LinkOptions): Promise<number> {
  const loaded = await loadOrRefuse(options, "structure");
  if (loaded === undefined) return 1;
  const { fleet } = loaded.config;
  const text = await readFile(fleet === undefined ? ONE_PROCESS : OF_FLEET[fleet.mode], "utf8");
  options.out(withLinks(text, options));
  return 0;
}

function withLinks(text: string, { runbooks, statusPage }: LinkOptions): string {
  if (runbooks === undefined && statusPage === undefined) return text;
  const document = parseDocument(text);
  visit(document, {
    Map(_, map) {
      if (!map.has("runbook_url")) return;
      if (runbooks !== undefined) map.set("runbook_url", folderUrl(runbooks) + runbookOf(map));
      if (statusPage !== undefined) map.set("status_page_url", folderUrl(statusPage) + pageOf(map));
    },
  });
  return document.toString({ lineWidth: LINE_CHARACTERS });
}

function runbookOf(annotations: YAMLMap): string {
  return /[^/]*$/.exec(String(annotations.get("runbook_url")))?.[0] ?? "";
}

/** An alert about an upstream leads to the page of that upstream. */
function pageOf(annotations: YAMLMap): string {
  const isAboutUpstream = String(annotations.get("summary")).includes("$labels.upstream");
  return isAboutUpstream ? "upstreams/{{ $labels.upstream }}" : "";
}
