/**
 * Writes every file that is generated, from the code and the config that ships: `node tools/generate.ts`.
 * With `--check` it only tells which of them are stale.
 */

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { dashboard } from "../src/commands/dashboard.ts";
import { rules } from "../src/commands/rules.ts";
import { configJsonSchemaText } from "../src/config/schema/json-schema.ts";
import { metricsPage } from "./docs-metrics.ts";
import { prometheusRule } from "./prometheus-rule.ts";

type Printing = {
  readonly configPath: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
};

const ROOT = new URL("../", import.meta.url);

const SHIPPED = "config/pacewatch.yaml";

const GENERATED: Readonly<Record<string, () => string | Promise<string>>> = {
  "config/prometheus/rules.yml": () => printed(rules, SHIPPED),
  "config/grafana/dashboards/pacewatch.json": () => printed(dashboard, SHIPPED),
  "config/schema.json": configJsonSchemaText,
  "docs/metrics.md": metricsPage,
  "deploy/kubernetes/single/prometheus-rule.yaml": () => ruleOf("deploy/kubernetes/single/pacewatch.yaml"),
  "deploy/kubernetes/fleet/prometheus-rule.yaml": () => ruleOf("deploy/kubernetes/fleet/pacewatch.yaml"),
};

/** By path from the project's root, what each should hold. */
export async function generatedFiles(): Promise<ReadonlyMap<string, string>> {
  const files = Object.entries(GENERATED).map(async ([path, text]) => [path, await text()] as const);
  return new Map(await Promise.all(files));
}

export async function staleFiles(): Promise<readonly string[]> {
  const stale: string[] = [];
  for (const [path, text] of await generatedFiles()) {
    const found = await readFile(new URL(path, ROOT), "utf8").catch(() => undefined);
    if (found !== text) stale.push(path);
  }
  return stale;
}

/** A fleet's rules differ from those of one process, so each overlay has those of its own config. */
async function ruleOf(configPath: string): Promise<string> {
  return prometheusRule(await printed(rules, configPath), configPath);
}

/** What a command says about a config. */
async function printed(command: (options: Printing) => Promise<number>, configPath: string): Promise<string> {
  let text = "";
  let faults = "";
  const code = await command({
    configPath: fileURLToPath(new URL(configPath, ROOT)),
    environment: {},
    out: (piece) => (text += piece),
    err: (piece) => (faults += piece),
  });
  if (code !== 0) throw new Error(`cannot generate from ${configPath}: ${faults}`);
  return text;
}

if (import.meta.main) {
  const stale = await staleFiles();
  if (process.argv.includes("--check")) {
    for (const path of stale) console.error(`${path} is stale: run "node tools/generate.ts"`);
    process.exitCode = stale.length === 0 ? 0 : 1;
  } else {
    const files = await generatedFiles();
    for (const path of stale) {
      await writeFile(new URL(path, ROOT), files.get(path) ?? "");
      console.log(`wrote ${path}`);
    }
  }
}
