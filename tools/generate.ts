/**
 * Writes every file that is generated, from the code and the config that ships: `node tools/generate.ts`.
 * With `--check` it only tells which of them are stale.
 */

import { readFile, writeFile } from "node:fs/promises";
import { CONFIG_SCHEMA } from "../src/app/features/sections.ts";
import { configJsonSchemaText } from "../src/config/schema/json-schema.ts";
import { dashboardText } from "./dashboard/dashboard.ts";
import { configurationPage } from "./docs-configuration.ts";
import { metricsPage } from "./docs-metrics.ts";
import { rulesText } from "./rules/rules.ts";
import { prometheusRule } from "./rules/prometheus-rule.ts";

const ROOT = new URL("../", import.meta.url);

const GENERATED: Readonly<Record<string, () => string>> = {
  "config/prometheus/rules.yml": () => rulesText("one"),
  "config/prometheus/rules-fleet.yml": () => rulesText("fleet"),
  "config/prometheus/rules-vantages.yml": () => rulesText("vantages"),
  "config/grafana/dashboards/pacewatch.json": dashboardText,
  "config/schema.json": () => configJsonSchemaText(CONFIG_SCHEMA),
  "docs/metrics.md": metricsPage,
  "docs/configuration.md": configurationPage,
  "deploy/kubernetes/single/prometheus-rule.yaml": () => prometheusRule("one"),
  "deploy/kubernetes/fleet/prometheus-rule.yaml": () => prometheusRule("fleet"),
};

/** By path from the project's root, what each should hold. */
export function generatedFiles(): ReadonlyMap<string, string> {
  return new Map(Object.entries(GENERATED).map(([path, text]) => [path, text()]));
}

export async function staleFiles(): Promise<readonly string[]> {
  const stale: string[] = [];
  for (const [path, text] of generatedFiles()) {
    const found = await readFile(new URL(path, ROOT), "utf8").catch(() => undefined);
    if (found !== text) stale.push(path);
  }
  return stale;
}

if (import.meta.main) {
  const stale = await staleFiles();
  if (process.argv.includes("--check")) {
    for (const path of stale) console.error(`${path} is stale: run "node tools/generate.ts"`);
    process.exitCode = stale.length === 0 ? 0 : 1;
  } else {
    const files = generatedFiles();
    for (const path of stale) {
      await writeFile(new URL(path, ROOT), files.get(path) ?? "");
      console.log(`wrote ${path}`);
    }
  }
}
