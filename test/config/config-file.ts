import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { load } from "../../src/app/features/sections.ts";
import type { LoadOptions, Loading } from "../../src/config/load.ts";

/** A directory of its own, gone at the end of the test. */
export class ConfigDirectory implements AsyncDisposable {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  static async create(): Promise<ConfigDirectory> {
    return new ConfigDirectory(await mkdtemp(join(tmpdir(), "pacewatch-config-")));
  }

  file(name = "pacewatch.yaml"): string {
    return join(this.path, name);
  }

  async write(content: string | Uint8Array, name?: string): Promise<string> {
    await writeFile(this.file(name), content);
    return this.file(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

export type Loaded = Extract<Loading, { kind: "loaded" }>;

export async function loadText(
  text: string | Uint8Array,
  environment: LoadOptions["environment"] = {},
  resolve: "everything" | "structure" = "everything",
): Promise<Loading> {
  await using directory = await ConfigDirectory.create();
  return await load(await directory.write(text), { environment, resolve });
}

export async function loaded(...given: Parameters<typeof loadText>): Promise<Loaded> {
  const loading = await loadText(...given);
  if (loading.kind === "loaded") return loading;
  throw new Error(loading.faults.map(({ message }) => message).join("\n"));
}

export async function refusals(...given: Parameters<typeof loadText>): Promise<readonly string[]> {
  const loading = await loadText(...given);
  if (loading.kind === "loaded") return ["loaded"];
  return loading.faults.map(
    ({ line, column, message }) =>
      `${line}:${column}: ${message.replaceAll(/\/tmp\/pacewatch-config-\w+\/?/g, "")}`,
  );
}

/** A valid config with these lines added to its only upstream. */
export function withUpstream(...lines: readonly string[]): string {
  const given = new Set(lines.map((line) => line.split(":")[0]));
  const upstream = [
    "name: api",
    "base_url: https://api.example.test",
    "auth: { none: true }",
    "budget: api",
    "every: 15s",
  ].filter((line) => !given.has(line.split(":")[0]) && !(given.has("cron") && line.startsWith("every")));
  return [
    "budgets:",
    "  api:",
    "    rate: { requests: 60, per: 1m }",
    "upstreams:",
    "  -",
    ...[...upstream, ...lines].map((line) => `    ${line}`),
    "",
  ].join("\n");
}
