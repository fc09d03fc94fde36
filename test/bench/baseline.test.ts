import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { baselineOf } from "../../bench/programs/baseline.ts";

let repository: string;
const commits: string[] = [];

function git(...args: readonly string[]): string {
  const identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
  return execFileSync("git", [...identity, ...args], { cwd: repository, encoding: "utf8" }).trim();
}

async function commit(baseline: string): Promise<void> {
  await writeFile(join(repository, "bench", "baseline"), `${baseline}\n`);
  git("add", "-A");
  git("commit", "-q", "--allow-empty", "-m", "a");
  commits.push(git("rev-parse", "HEAD"));
}

beforeAll(async () => {
  repository = await mkdtemp(join(tmpdir(), "pacewatch-baseline-test-"));
  await mkdir(join(repository, "bench"));
  git("init", "-q");
  git("commit", "-q", "--allow-empty", "-m", "first");
  commits.push(git("rev-parse", "HEAD"));
  git("commit", "-q", "--allow-empty", "-m", "second");
  commits.push(git("rev-parse", "HEAD"));
});

afterAll(() => rm(repository, { recursive: true, force: true }));

test("a baseline that is raised is taken, one that is lowered or unknown is refused", async () => {
  const [first = "", second = ""] = commits;
  await commit(first);
  expect(await baselineOf(repository)).toBe(first);
  await commit(second);
  expect(await baselineOf(repository)).toBe(second);
  await commit(first);
  await expect(baselineOf(repository)).rejects.toThrow(
    `cannot measure: bench/baseline must not be before "${second}", received "${first}"`,
  );
  await writeFile(join(repository, "bench", "baseline"), "0123abc\n");
  await expect(baselineOf(repository)).rejects.toThrow(
    'cannot measure: bench/baseline must be a commit before this one, received "0123abc"',
  );
});
