import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as monitoring from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1";
import * as apps from "kubernetes-models/apps/v1";
import * as networking from "kubernetes-models/networking.k8s.io/v1";
import * as policy from "kubernetes-models/policy/v1";
import * as core from "kubernetes-models/v1";
import type { Resource } from "./kustomize.ts";

const ROOT = join(import.meta.dirname, "../../..");

type Model = new (data: Readonly<Record<string, unknown>>) => { validate(): void };
type Models = Readonly<Record<string, unknown>>;

const GROUPS: Readonly<Record<string, readonly [from: string, models: Models]>> = {
  v1: ["kubernetes-models/v1", core],
  "apps/v1": ["kubernetes-models/apps/v1", apps],
  "networking.k8s.io/v1": ["kubernetes-models/networking.k8s.io/v1", networking],
  "policy/v1": ["kubernetes-models/policy/v1", policy],
  "monitoring.coreos.com/v1": ["@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1", monitoring],
};

/** What Kubernetes' own schemas, and those of the Prometheus Operator, have against a resource. */
export function schemaFault(resource: Resource): string | undefined {
  const { apiVersion, kind, ...data } = resource;
  const model = GROUPS[apiVersion]?.[1][kind];
  if (typeof model !== "function") return `${apiVersion} has no ${kind}`;
  try {
    new (model as Model)(data).validate();
    return undefined;
  } catch (error) {
    return String(error);
  }
}

/**
 * The schemas let an unknown key pass, and the cluster would forget it in silence. The types made from them do not:
 * each resource is compiled as the literal that it is.
 */
export async function unknownKeys(resources: readonly Resource[]): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), "pacewatch-kubernetes-"));
  try {
    await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
    const file = join(folder, "resources.ts");
    await writeFile(file, resources.map(asTypeScript).join("\n"));
    const printed = await compile(folder, file);
    return printed.split("\n").filter((line) => line.includes("error TS"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function asTypeScript(resource: Resource, index: number): string {
  const from = GROUPS[resource.apiVersion]?.[0] ?? "";
  const type = `import(${JSON.stringify(from)}).I${resource.kind}`;
  return `export const resource${index}: ${type} = ${JSON.stringify(resource)};`;
}

function compile(folder: string, file: string): Promise<string> {
  const options = ["--noEmit", "--strict", "--skipLibCheck", "--ignoreConfig", "--module", "nodenext"];
  const program = join(ROOT, "node_modules/typescript/bin/tsc");
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [program, ...options, file], { cwd: folder }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else if (stdout.includes("error TS")) resolve(stdout);
      else reject(new Error(`${error.message}\n${stderr}`));
    });
  });
}
