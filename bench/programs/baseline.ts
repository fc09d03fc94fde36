import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const FILE = "bench/baseline";
const run = promisify(execFile);

/**
 * The commit that all others are measured against. It is raised to a later one when that one is better, and never
 * lowered: a small loss each day would be seen by nobody who compares with yesterday.
 */
export async function baselineOf(repository: string): Promise<string> {
  const git = async (...args: readonly string[]): Promise<string> =>
    (await run("git", [...args], { cwd: repository })).stdout.trim();
  const isBefore = (one: string, other: string): Promise<boolean> =>
    git("merge-base", "--is-ancestor", one, other).then(
      () => true,
      () => false,
    );
  const baseline = (await readFile(join(repository, FILE), "utf8")).trim();
  if (!(await isBefore(baseline, "HEAD"))) {
    throw new Error(`cannot measure: ${FILE} must be a commit before this one, received "${baseline}"`);
  }
  const versions = (await git("log", "--format=%H", "--", FILE)).split("\n").filter(Boolean);
  for (const version of versions) {
    const earlier = await git("show", `${version}:${FILE}`);
    if (!(await isBefore(earlier, baseline))) {
      throw new Error(`cannot measure: ${FILE} must not be before "${earlier}", received "${baseline}"`);
    }
  }
  return baseline;
}
