import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { Buildah } from "./buildah.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

const Inspected = z.object({
  Docker: z.object({
    config: z.object({
      User: z.string(),
      WorkingDir: z.string(),
      Env: z.array(z.string()),
      Entrypoint: z.array(z.string()),
      Cmd: z.array(z.string()),
      ExposedPorts: z.record(z.string(), z.unknown()),
      Healthcheck: z.object({ Test: z.array(z.string()) }),
    }),
  }),
});
const Layered = z.object({ OCIv1: z.object({ rootfs: z.object({ diff_ids: z.array(z.string()) }) }) });
const Manifest = z.object({ version: z.string() });
/** What the image may add to its base. */
const LARGEST_BYTES = 5_600_000;

export type Image = {
  readonly root: string;
  readonly user: string;
  readonly folder: string;
  readonly env: readonly string[];
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly ports: readonly string[];
  readonly healthcheck: readonly string[];
};

async function inspect(buildah: Buildah, tag: string): Promise<unknown> {
  return JSON.parse(await buildah.do("inspect", "--type", "image", tag));
}

/** The hash of each layer, the base's first. */
export async function layersOf(buildah: Buildah, tag: string): Promise<readonly string[]> {
  return Layered.parse(await inspect(buildah, tag)).OCIv1.rootfs.diff_ids;
}

export async function readImage(buildah: Buildah, tag: string): Promise<Image> {
  const inspected = Inspected.parse(await inspect(buildah, tag));
  const container = await buildah.do("from", "--pull-never", tag);
  const config = inspected.Docker.config;
  return {
    root: await buildah.do("mount", container),
    user: config.User,
    folder: config.WorkingDir,
    env: config.Env,
    entrypoint: config.Entrypoint,
    command: config.Cmd,
    ports: Object.keys(config.ExposedPorts),
    healthcheck: config.Healthcheck.Test,
  };
}

export function checkSettings(image: Image): void {
  assert.equal(image.user, "1000:1000");
  assert.equal(image.folder, "/app");
  assert.equal(image.entrypoint[0], "node");
  assert.equal(image.entrypoint.at(-1), "bin/pacewatch.mjs");
  assert.ok(image.entrypoint.includes("--disable-sigusr1"));
  assert.deepEqual(image.command, ["run", "--listen", "0.0.0.0:10429"]);
  assert.deepEqual(image.ports, ["10429/tcp"]);
  assert.equal(image.healthcheck[0], "CMD", "the health check needs no shell");
  assert.ok(image.env.includes("NODE_ENV=production"));
}

/** Every path under a folder, links not followed. */
function walk(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).map((path) => join(folder, path));
}

/** What is in `/app`: what `npm run build` wrote, but for what installs it from outside; all of them readable and none of them writable by the daemon. */
export async function checkFiles(image: Image): Promise<void> {
  const app = join(image.root, image.folder);
  const found = await readdir(app);
  const built = await readdir(join(REPOSITORY, "dist"));
  const shipped = new Set([...built.filter((name) => name !== "deploy"), "node_modules"]);
  assert.deepEqual(new Set(found), shipped);
  assert.ok(found.includes("sbom.json") && found.includes("THIRD-PARTY-NOTICES.txt"));
  assert.deepEqual(await readdir(join(app, "node_modules")), [".cache"], "no package but the cache is there");
  const bytes = walk(app).reduce((sum, path) => sum + lstatSync(path).size, 0);
  assert.ok(bytes <= LARGEST_BYTES, `the image adds at most 5.6 MB to its base, received ${bytes} bytes`);

  for (const path of walk(app)) {
    const entry = lstatSync(path);
    assert.equal(entry.uid, 0, `${path} belongs to root`);
    if (!entry.isSymbolicLink()) {
      assert.equal(entry.mode & 0o022, 0, `${path} is writable by root only`);
      assert.notEqual(entry.mode & 0o004, 0, `${path} is readable by the daemon`);
    }
  }
  assert.equal(lstatSync(join(image.root, "data")).uid, 1000, "/data belongs to the daemon");
}

export async function versionIn(image: Image): Promise<string> {
  const manifest = await readFile(join(image.root, image.folder, "package.json"), "utf8");
  return Manifest.parse(JSON.parse(manifest)).version;
}
