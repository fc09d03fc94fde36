import { chmod, cp, copyFile, mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { run, type Buildah } from "./buildah.ts";

const PROGRAMS: Readonly<Record<string, string>> = {
  "/usr/bin/sh": "/usr/bin/dash",
  "/usr/bin/env": "/usr/bin/env",
  "/usr/bin/ln": "/usr/bin/ln",
  "/usr/bin/mkdir": "/usr/bin/mkdir",
  "/usr/bin/chown": "/usr/bin/chown",
  "/usr/bin/chmod": "/usr/bin/chmod",
  "/usr/bin/timeout": "/usr/bin/timeout",
  "/usr/local/bin/node": process.execPath,
};
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";

/** The shared libraries of a program and its loader, as paths. */
async function librariesOf(program: string): Promise<readonly string[]> {
  const listed = await run("ldd", [program]);
  return listed.match(/\/\S+(?=\s\(0x)/gu) ?? [];
}

async function place(root: string, source: string, at: string): Promise<void> {
  const target = join(root, at);
  await mkdir(dirname(target), { recursive: true });
  await copyFile(await realpath(source), target);
}

async function placePrograms(root: string): Promise<void> {
  const libraries = await Promise.all(Object.values(PROGRAMS).map(librariesOf));
  for (const [at, source] of Object.entries(PROGRAMS)) {
    await place(root, source, at);
  }
  for (const library of new Set(libraries.flat())) {
    await place(root, library, library);
  }
}

/** npm with the settings of this machine: how it reaches a registry is the machine's affair, not the image's. */
async function placeNpm(root: string): Promise<void> {
  const command = await realpath(await run("/bin/sh", ["-c", "command -v npm"]));
  const npm = dirname(dirname(command));
  await cp(npm, join(root, "usr/local/lib/node_modules/npm"), { recursive: true });
  await symlink("../lib/node_modules/npm/bin/npm-cli.js", join(root, "usr/local/bin/npm"));
  const registry = await run("npm", ["config", "get", "registry"]);
  await mkdir(join(root, "usr/local/etc"), { recursive: true });
  await writeFile(join(root, "usr/local/etc/npmrc"), `registry=${registry}\nupdate-notifier=false\n`);
  await copyFile(join(homedir(), ".npmrc"), join(root, "root/.npmrc")).catch(() => undefined);
  await place(root, process.env["NODE_EXTRA_CA_CERTS"] ?? CERTIFICATES, CERTIFICATES);
}

async function placeSkeleton(root: string): Promise<void> {
  for (const folder of ["usr/bin", "usr/lib", "usr/lib64", "etc", "root", "proc", "dev", "sys"]) {
    await mkdir(join(root, folder), { recursive: true });
  }
  for (const merged of ["bin", "lib", "lib64"]) {
    await symlink(`usr/${merged}`, join(root, merged));
  }
  await mkdir(join(root, "tmp"));
  await chmod(join(root, "tmp"), 0o1777);
  await writeFile(join(root, "etc/passwd"), "root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/tmp:/bin/sh\n");
  await writeFile(join(root, "etc/group"), "root:x:0:\nnode:x:1000:\n");
}

/**
 * Builds what stands in for the official Node image on a machine that can pull none: this machine's own Node,
 * npm, shell and libraries. It proves what our Dockerfile does, and nothing about the real base.
 */
export async function buildStandIn(buildah: Buildah, tag: string): Promise<void> {
  const context = join(buildah.folder, "base");
  const root = join(context, "root");
  await placeSkeleton(root);
  await placePrograms(root);
  await placeNpm(root);
  const dockerfile = join(context, "Dockerfile");
  await writeFile(
    dockerfile,
    `FROM scratch\nCOPY root /\nENV PATH=/usr/local/bin:/usr/bin:/bin NODE_EXTRA_CA_CERTS=${CERTIFICATES}\nCMD ["node"]\n`,
  );
  await buildah.build(tag, context, dockerfile);
}
