import { readFile } from "node:fs/promises";
import type { FleetMode } from "../core/config/config.ts";
import { folderUrl, type LinkOptions } from "./links.ts";
import { type CommandIo, loadOrRefuse } from "./loading.ts";

const ONE_PROCESS = new URL("../../config/prometheus/rules.yml", import.meta.url);
const OF_FLEET: Readonly<Record<FleetMode, URL>> = {
  shard: new URL("../../config/prometheus/rules-shard.yml", import.meta.url),
  everywhere: new URL("../../config/prometheus/rules-everywhere.yml", import.meta.url),
};

/** Each alert ends with this line. */
const RUNBOOK_URL = /^( *)runbook_url: "(.*\/)(\w+)\.md"$/m;

/** Prints the Prometheus rules that fit this config: they read metrics, so only the mode of the fleet matters. */
export async function rules(options: CommandIo & LinkOptions): Promise<number> {
  const loaded = await loadOrRefuse(options, "structure");
  if (loaded === undefined) return 1;
  const { fleet } = loaded.config;
  const text = await readFile(fleet === undefined ? ONE_PROCESS : OF_FLEET[fleet.mode], "utf8");
  options.out(withLinks(text, options));
  return 0;
}

/** Changes the links as text, so that every other byte stays as it was reviewed. */
function withLinks(text: string, links: LinkOptions): string {
  return text
    .split(/^(?= +- alert: )/m)
    .map((alert) => withLinksOf(alert, links))
    .join("");
}

function withLinksOf(alert: string, { runbooks, statusPage }: LinkOptions): string {
  const isAboutUpstream = /^ *summary: .*\$labels\.upstream/m.test(alert);
  const page = isAboutUpstream ? "upstreams/{{ $labels.upstream }}" : "";
  const root = statusPage === undefined ? undefined : folderUrl(statusPage);
  return alert.replace(RUNBOOK_URL, (_, indent: string, folder: string, runbook: string) => {
    // The daemon serves its runbooks beside its status page.
    const isServed = runbooks === undefined && root !== undefined;
    const kept = `${runbooks === undefined ? folder : folderUrl(runbooks)}${runbook}.md`;
    const urls = [`runbook_url: ${quoted(isServed ? `${root}runbooks/${runbook}` : kept)}`];
    if (root !== undefined) urls.push(`status_page_url: ${quoted(root + page)}`);
    return urls.map((url) => indent + url).join("\n");
  });
}

/** A string of JSON is one of YAML too. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
