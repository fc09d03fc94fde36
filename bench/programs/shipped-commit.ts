import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { imageCommand } from "../../tools/image-command.ts";

const HERE = fileURLToPath(new URL("../../", import.meta.url));
const BUILT = join(tmpdir(), "pacewatch-built");
const run = promisify(execFile);

/**
 * What is checked out. What is not committed yet becomes a commit that no branch has; a file that git was never told of is
 * not in it.
 */
export async function shippedHere(): Promise<string> {
  const { stdout: uncommitted } = await run("git", ["stash", "create"], { cwd: HERE });
  return await shippedAt(uncommitted.trim() || "HEAD");
}

/** A folder as `imageCommand` takes it: what a commit ships, built with the dependencies that it names. Kept for the next time. */
export async function shippedAt(commit: string): Promise<string> {
  const { stdout } = await run("git", ["rev-parse", `${commit}^{tree}`], { cwd: HERE });
  const root = join(BUILT, stdout.trim(), "/");
  const isThere = await stat(root).then(
    () => true,
    () => false,
  );
  if (isThere) return root;
  const checkout = await mkdtemp(join(tmpdir(), "pacewatch-commit-"));
  await run("git", ["worktree", "add", "--detach", checkout, commit], { cwd: HERE });
  try {
    // As if it were typed there: npm tells those that it starts where it was started itself.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_")));
    for (const args of [["ci"], ["run", "build"]]) await run("npm", args, { cwd: checkout, env });
    await warm(checkout);
    await mkdir(join(checkout, "shipped"));
    for (const name of ["Dockerfile", "dist"])
      await rename(join(checkout, name), join(checkout, "shipped", name));
    await mkdir(BUILT, { recursive: true });
    await rename(join(checkout, "shipped"), root);
  } finally {
    await run("git", ["worktree", "remove", "--force", checkout], { cwd: HERE });
    await rm(checkout, { recursive: true, force: true });
  }
  return root;
}

/** As the Dockerfile does it: without the cache of compiled code a start takes longer, and a daemon more memory. */
export async function warm(checkout: string): Promise<void> {
  const dist = join(checkout, "dist");
  await copyFile(join(checkout, "bin", "warm.mjs"), join(dist, "bin", "warm.mjs"));
  await mkdir(join(dist, "node_modules", ".cache", "pacewatch"), { recursive: true });
  const { env } = await imageCommand("bundle", join(checkout, "/"));
  await run(process.execPath, ["bin/warm.mjs"], { cwd: dist, env: { ...process.env, ...env } });
}
