/**
 * Writes `dist/`, all that is shipped: `npm run build`. It is a complete npm package without dependencies, and what the
 * container image contains. Two builds of one commit are equal, byte by byte and time by time.
 */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import manifest from "../package.json" with { type: "json" };
import { bundle, type Bundle, notices } from "./package/bundle.ts";
import { billOfMaterials } from "./sbom.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** Beside the code, as they are. */
const COPIED = [
  "README.md",
  "CHANGELOG.md",
  "LICENSE",
  "SECURITY.md",
  "config",
  "deploy/systemd",
  "deploy/kubernetes",
  "docs",
];

export type BuildOptions = {
  readonly folder: string;
  readonly commit: string;
  /** The time of every file, in seconds since 1970. */
  readonly epochS: number;
};

export async function build({ folder, commit, epochS }: BuildOptions): Promise<void> {
  const { packages } = await buildProgram(folder, commit);
  await unlinkMissing(folder);
  await put(folder, "package.json", json(publishedManifest(commit)));
  await put(folder, "THIRD-PARTY-NOTICES.txt", await notices(packages));
  await put(folder, "sbom.json", json(reproducible(billOfMaterials(), commit, epochS)));
  await setModesAndTimes(folder, epochS);
}

/** Only what runs, and the files beside it: for tests. */
export async function buildProgram(folder: string, commit: string): Promise<Bundle> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const path of COPIED) await cp(join(ROOT, path), join(folder, path), { recursive: true });
  const built = await bundle(commit);
  for (const [path, content] of built.files) await put(folder, path, content);
  return built;
}

/** What a page links to in the repository alone is only named in the package. */
async function unlinkMissing(folder: string): Promise<void> {
  for (const page of await readdir(folder, { recursive: true })) {
    if (!page.endsWith(".md")) continue;
    const path = join(folder, page);
    const text = await readFile(path, "utf8");
    const linked = text.replace(MARKDOWN_LINK, (link: string, words: string, target: string) =>
      existsSync(join(dirname(path), target)) ? link : words,
    );
    await writeFile(path, linked);
  }
}

/** To a file beside it, with or without a place in it. */
const MARKDOWN_LINK = /\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]+)(?:#[^)]*)?\)/g;

/** What npm is told: no dependencies, no scripts, nothing to import. */
function publishedManifest(commit: string): object {
  const { name, version, description, license, bin, type, engines } = manifest;
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository } = process.env;
  const address = server && repository ? `${server}/${repository}` : undefined;
  return {
    name,
    version,
    description,
    license,
    // Only a release knows where the repository is. The registry compares that with where the package was built.
    ...(address === undefined
      ? {}
      : {
          homepage: `${address}#readme`,
          repository: { type: "git", url: `git+${address}.git` },
          bugs: { url: `${address}/issues` },
        }),
    gitHead: commit,
    bin,
    type,
    exports: {},
    files: ["bin", "lib", "config", "deploy", "docs", "*.md", "*.txt", "sbom.json"],
    engines,
  };
}

/** npm gives each bill a random number, the time of day and its own version. */
function reproducible(bill: ReturnType<typeof billOfMaterials>, commit: string, epochS: number): object {
  const hash = createHash("sha256")
    .update(`${commit} ${JSON.stringify(bill.components)}`)
    .digest("hex");
  const serial = [hash.slice(0, 8), hash.slice(8, 12), `5${hash.slice(13, 16)}`, `8${hash.slice(17, 20)}`];
  const timestamp = new Date(epochS * 1_000).toISOString();
  return {
    ...bill,
    serialNumber: `urn:uuid:${[...serial, hash.slice(20, 32)].join("-")}`,
    metadata: { ...bill.metadata, timestamp, tools: undefined },
  };
}

async function put(folder: string, path: string, content: string | Uint8Array): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), content);
}

/** Whatever the umask and the clock were: an image's layers contain both. */
async function setModesAndTimes(folder: string, epochS: number): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }));
  // The innermost first: what is done in a folder changes its time.
  for (const { entry, path } of paths.toSorted((one, other) => other.path.length - one.path.length)) {
    await chmod(path, entry.isDirectory() || entry.name === "pacewatch.mjs" ? 0o755 : 0o644);
    await utimes(path, epochS, epochS);
  }
  await chmod(folder, 0o755);
  await utimes(folder, epochS, epochS);
}

function json(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
}

if (import.meta.main) {
  const commit = git("describe", "--always", "--abbrev=40", "--exclude=*", "--dirty");
  const epochS = Number(process.env["SOURCE_DATE_EPOCH"] ?? git("log", "-1", "--format=%ct"));
  const folder = join(ROOT, "dist");
  await build({ folder, commit, epochS });
  console.log(`built ${manifest.name} ${manifest.version} of commit ${commit} in ${folder}`);
}
