import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Buildah } from "./buildah.ts";

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
const Manifest = z.object({
  version: z.string(),
  dependencies: z.record(z.string(), z.string()),
  devDependencies: z.record(z.string(), z.string()),
});

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

export async function readImage(buildah: Buildah, tag: string): Promise<Image> {
  const inspected = Inspected.parse(JSON.parse(await buildah.do("inspect", "--type", "image", tag)));
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
  assert.deepEqual(image.entrypoint, ["node", "--disable-sigusr1", "bin/pacewatch.mjs"]);
  assert.deepEqual(image.command, ["run", "--listen", "0.0.0.0:10429"]);
  assert.deepEqual(image.ports, ["10429/tcp"]);
  assert.equal(image.healthcheck[0], "CMD", "the health check needs no shell");
  assert.ok(image.env.includes("NODE_ENV=production"));
}

/** Every path under a folder, links not followed. */
function walk(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).map((path) => join(folder, path));
}

/** What is in `/app`: production's files, all of them readable and none of them writable by the daemon. */
export async function checkFiles(image: Image): Promise<void> {
  const app = join(image.root, image.folder);
  const found = await readdir(app);
  assert.deepEqual(found.toSorted(), ["LICENSE", "bin", "config", "node_modules", "package.json", "src"]);

  const manifest = Manifest.parse(JSON.parse(await readFile(join(app, "package.json"), "utf8")));
  const installed = new Set(await readdir(join(app, "node_modules"), { recursive: true }));
  for (const name of Object.keys(manifest.dependencies)) {
    assert.ok(installed.has(name), `the dependency ${name} is in the image`);
  }
  for (const name of Object.keys(manifest.devDependencies)) {
    assert.ok(!installed.has(name), `the development dependency ${name} is not in the image`);
  }
  assert.deepEqual(
    [...installed].filter((name) => /^node-(?:linux|darwin|win)/u.test(name)),
    [],
    "the Node.js that development machines are brought is not in the image",
  );

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
