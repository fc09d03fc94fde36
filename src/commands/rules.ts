import { readFile } from "node:fs/promises";
import { LINK_LABEL, type Upstream, type Web } from "../kernel/config/config.ts";
import { leadOf } from "../app/features/lead.ts";
import { escapeText } from "../kernel/text/escape.ts";
import { folderUrl, type LinkOptions } from "./links.ts";
import { type CommandIo, loadOrRefuse } from "../config/command-line.ts";
import { AS_SHIPPED, faultsOfShape, optionsOf, quoted, type Shape, shaped } from "./shape.ts";

const ONE_PROCESS = new URL("../../config/prometheus/rules.yml", import.meta.url);
const OF_VANTAGES = new URL("../../config/prometheus/rules-vantages.yml", import.meta.url);
const OF_FLEET = new URL("../../config/prometheus/rules-fleet.yml", import.meta.url);

/** Each alert has these lines, and ends with the second. */
const SEVERITY = /^( *)severity: .+$/m;
const RUNBOOK_URL = /^( *)runbook_url: .*(?:\n\1 +.*)*$/m;
/** An alert is about one of these. */
const SUBJECT = /^ *summary: (?:>-\n)?.*\$labels\.(upstream|budget)\b/m;

/**
 * Prints the Prometheus rules that fit this config: they read metrics, so of the config only who watches, where its page is,
 * and the names of labels and links matter.
 */
export async function rules(options: CommandIo & LinkOptions & Partial<Shape>): Promise<number> {
  const loaded = await loadOrRefuse(options, "structure");
  if (loaded === undefined) return 1;
  const { vantage, upstreams, web } = loaded.config;
  const ofOne = leadOf(loaded.config) === undefined ? ONE_PROCESS : OF_FLEET;
  const text = await readFile(vantage === undefined ? ofOne : OF_VANTAGES, "utf8");
  const linked = { runbooks: options.runbooks, statusPage: options.statusPage ?? web.pageUrl };
  const scheme = (await hasTls(web)) ? "https" : "http";
  const named = (of: (upstream: Upstream) => object | undefined): readonly string[] =>
    [...new Set(upstreams.flatMap((upstream) => Object.keys(of(upstream) ?? {})))].toSorted();
  const labels = named((upstream) => upstream.labels);
  const links = named((upstream) => upstream.links).map((link) => LINK_LABEL + link);
  const shape = { ...AS_SHIPPED, ...options };
  const faults = faultsOfShape(shape, text, labels);
  if (faults.length > 0) {
    options.err(faults.map((fault) => `cannot print rules: ${fault}\n`).join(""));
    return 1;
  }
  const alerts = shaped(text, shape)
    .split(/^(?= +- alert: )/m)
    .map((alert) => withLinks(withLabels(alert, labels, links), linked, scheme));
  options.out(`# Made by: ${commandLine(options, shape)}\n${alerts.join("")}`);
  return 0;
}

/** By which they can be made again. */
function commandLine({ configPath, runbooks, statusPage }: CommandIo & LinkOptions, shape: Shape): string {
  const words = [
    "--config",
    configPath,
    ...(runbooks === undefined ? [] : ["--runbooks", runbooks]),
    ...(statusPage === undefined ? [] : ["--status-page", statusPage]),
    ...optionsOf(shape),
  ];
  const typed = words.map((word) =>
    /^[\w./:=,@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`,
  );
  return escapeText(["pacewatch", "rules", ...typed].join(" "));
}

/** The rules need no file: one that is not there yet changes nothing. */
async function hasTls({ configFile }: Web): Promise<boolean> {
  const text = configFile === undefined ? "" : await readFile(configFile, "utf8").catch(() => "");
  return /^tls_server_config:/m.test(text);
}

/** Changes the rules as text, so that every other byte stays as it was reviewed. */
function withLabels(alert: string, labels: readonly string[], links: readonly string[]): string {
  const subject = SUBJECT.exec(alert)?.[1];
  if (subject === undefined) return alert;
  const lines = (names: readonly string[], indent: string, otherwise: string): string =>
    names.map((name) => `\n${indent}${name}: ${quoted(labelOf(subject, name, otherwise))}`).join("");
  return alert
    .replace(SEVERITY, (line, indent: string) => line + lines(labels, indent, NONE))
    .replace(RUNBOOK_URL, (line, indent: string) => line + lines(links, indent, ""));
}

/** Where a label is left empty, Prometheus shows its template in the series `ALERTS`. */
const NONE = "none";

/**
 * Looks it up while the alert is active, which costs nothing before. Where the upstreams of a budget differ in it, there is
 * none. Where a process is gone, what it said stands for as long as `PacewatchPollsStalled` tells of it.
 */
function labelOf(subject: string, name: string, otherwise: string): string {
  const info = `pacewatch_upstream_info{job=%q,${subject}=%q,${name}!=""}`;
  const query = `group by (${name}) (${info} or on () last_over_time(${info}[6h]))`;
  const values = `$labels.job $labels.${subject}`;
  const one = `{{ if eq (len .) 1 }}{{ . | first | label "${name}" }}{{ else }}${otherwise}{{ end }}`;
  return `{{ with printf \`${query}\` ${values} ${values} | query }}${one}{{ else }}${otherwise}{{ end }}`;
}

function withLinks(alert: string, { runbooks, statusPage }: LinkOptions, scheme: string): string {
  const page = SUBJECT.exec(alert)?.[1] === "upstream" ? "upstreams/{{ $labels.upstream }}" : "";
  const root = statusPage === undefined ? undefined : folderUrl(statusPage);
  const name = /- alert: (\w+)/.exec(alert)?.[1] ?? "";
  return alert.replace(RUNBOOK_URL, (line, indent: string) => {
    const runbook =
      runbooks === undefined ? root && `${root}runbooks/${name}` : `${folderUrl(runbooks)}${name}.md`;
    const kept = line.replace("http://", () => `${scheme}://`);
    const lines = [runbook === undefined ? kept : `${indent}runbook_url: ${quoted(runbook)}`];
    if (root !== undefined) lines.push(`${indent}status_page_url: ${quoted(root + page)}`);
    return lines.join("\n");
  });
}
