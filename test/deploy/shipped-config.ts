import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { load } from "../../src/app/features/sections.ts";
import type { Loading } from "../../src/config/load.ts";

/** What the manifests put into the environment. */
const PLACES = { PACEWATCH_REDIS_URL: "redis://redis.example.com:6379", HOSTNAME: "pacewatch-0" };

/** Loads a config as it ships, with a key in each file that it names below the folder of the keys. */
export async function loadShipped(path: string, keysFolder: string): Promise<Loading> {
  const folder = await mkdtemp(join(tmpdir(), "pacewatch-shipped-"));
  try {
    const shipped = await readFile(path, "utf8");
    for (const name of keysIn(shipped, keysFolder)) await writeFile(join(folder, name), `test-key-${name}`);
    const config = join(folder, "pacewatch.yaml");
    await writeFile(config, shipped.replaceAll(keysFolder, folder));
    return await load(config, { environment: { ...PLACES, STATE_DIRECTORY: folder } });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The names of the key files that a config asks for. */
export function keysIn(config: string, keysFolder: string): readonly string[] {
  return config
    .split(`${keysFolder}/`)
    .slice(1)
    .map((rest) => /^[\w.-]+/.exec(rest)?.[0] ?? "");
}
