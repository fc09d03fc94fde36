import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A config as a plain value. Written as JSON, which is YAML too. */
export type RawConfig = {
  readonly web?: object;
  readonly log?: object;
  readonly state?: object;
  readonly fleet?: object;
  readonly vantage?: object;
  readonly notify?: readonly object[];
  readonly budgets: Readonly<Record<string, object>>;
  readonly defaults?: object;
  readonly upstreams: readonly RawUpstream[];
};

export type RawUpstream = { readonly name: string; readonly [key: string]: unknown };

/** A directory of its own that goes with the test. */
export class ConfigFolder implements AsyncDisposable {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  get path(): string {
    return join(this.folder, "pacewatch.yaml");
  }

  /** As editors and deployments do it: the new file takes the old one's place in one step. */
  async write(config: RawConfig | string | Uint8Array): Promise<void> {
    const next = join(this.folder, ".next");
    const isText = typeof config === "string" || config instanceof Uint8Array;
    await writeFile(next, isText ? config : JSON.stringify(config, undefined, 2));
    await rename(next, this.path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

export async function openConfigFolder(config: RawConfig | string): Promise<ConfigFolder> {
  const opened = new ConfigFolder(await mkdtemp(join(tmpdir(), "pacewatch-test-")));
  await opened.write(config);
  return opened;
}

/** An upstream of the simulator's kind; a test says only what it is about. */
export function rawUpstream(name: string, url: string, changes: object = {}): RawUpstream {
  return {
    name,
    base_url: url,
    auth: { none: true },
    budget: "api",
    every: "1s",
    timeout: "1s",
    confirm: 0,
    ...changes,
  };
}
