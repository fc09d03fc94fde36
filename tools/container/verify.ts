/**
 * Builds the Dockerfile for real and runs what came out of it, on a machine without a container engine:
 * `npm run build && node tools/container/verify.ts`. It needs root, Debian's buildah, and about 2 GB of room for a minute.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Buildah, run } from "./buildah.ts";
import { checkFiles, checkSettings, readImage } from "./image.ts";
import { checkDaemon, checkShippedConfig, checkSurroundings, checkVersion } from "./running.ts";
import { buildStandIn } from "./stand-in.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
const BASE = "node:24-slim";
const IMAGE = "pacewatch:verify";

async function step<T>(title: string, act: () => Promise<T> | T): Promise<T> {
  const startedAt = performance.now();
  const result = await act();
  console.log(`  ok  ${title} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
  return result;
}

/** Why this machine cannot verify the image, or undefined. */
async function obstacle(): Promise<string | undefined> {
  if (!(await run("buildah", ["--version"]).then(Boolean, () => false))) {
    return "buildah is not installed";
  }
  const namespaces = run("unshare", [
    "--mount",
    "--pid",
    "--fork",
    "/bin/sh",
    "-c",
    "mount -t proc proc /proc",
  ]);
  if (
    !(await namespaces.then(
      () => true,
      () => false,
    ))
  ) {
    return "this user may not make mount and process namespaces (it needs root)";
  }
  return undefined;
}

async function verify(): Promise<readonly string[]> {
  await using buildah = await Buildah.open();
  const leave = (): void => {
    void buildah[Symbol.asyncDispose]().finally(() => process.exit(1));
  };
  process.once("SIGINT", leave).once("SIGTERM", leave);

  await step("a stand-in for the base image, from this machine's files", async () => {
    await buildStandIn(buildah, BASE);
  });
  const image = await step("the Dockerfile builds", async () => {
    await buildah.build(IMAGE, REPOSITORY, join(REPOSITORY, "Dockerfile"));
    return await readImage(buildah, IMAGE);
  });
  await step("its user, entrypoint, command, port and health check", () => {
    checkSettings(image);
  });
  await step("production's files and nothing else, root's, readable", async () => {
    await checkFiles(image);
  });
  await step("process 1 of user 1000 can write nowhere", async () => {
    await checkSurroundings(image);
  });
  await step("--version", async () => {
    await checkVersion(image);
  });
  await step("check accepts the config that ships", async () => {
    await checkShippedConfig(image);
  });
  const scratch = join(buildah.folder, "config");
  await mkdir(scratch);
  return await step("run polls, shows metrics, is healthy, and SIGTERM ends it with 0", async () => {
    return await checkDaemon(image, scratch);
  });
}

const reason = await obstacle();
if (reason === undefined) {
  console.log("container image:");
  try {
    const notes = await verify();
    for (const note of notes) {
      console.log(`  note  ${note}`);
    }
    console.log("container image: verified, on a stand-in base: nothing is proven about the real one.");
  } catch (error) {
    console.error(`container image: FAILED: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
} else {
  console.error(`\n*** container image: NOT VERIFIED: ${reason}.\n`);
  process.exitCode = process.env["CI"] === "true" ? 1 : 0;
}
