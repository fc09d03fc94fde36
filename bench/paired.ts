/**
 * Whether a poll costs what it did in another commit: `npm run bench:paired -- --against COMMIT`. Both are measured in
 * turns, each next to the other, so that what slowed both is divided away.
 */

import { execFile } from "node:child_process";
import { copyFile, mkdtemp, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { pairedRatios, summaryOf } from "./report/statistics.ts";

const HERE = fileURLToPath(new URL("..", import.meta.url));
const MEASURE = join("bench", "programs", "poll-cpu-main.ts");

const { values } = parseArgs({
  options: { against: { type: "string" }, pairs: { type: "string", default: "8" } },
});
const { against } = values;
if (against === undefined) throw new Error("--against must be a commit");

const run = promisify(execFile);
const there = await mkdtemp(join(tmpdir(), "pacewatch-paired-"));
await run("git", ["worktree", "add", "--detach", there, against], { cwd: HERE });
try {
  await symlink(join(HERE, "node_modules"), join(there, "node_modules"));
  await copyFile(join(HERE, MEASURE), join(there, MEASURE));
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let pair = 0; pair < Number(values.pairs); pair += 1) {
    // Who is first changes with each pair.
    for (const isOurs of pair % 2 === 0 ? [true, false] : [false, true]) {
      (isOurs ? ours : theirs).push(await measure(isOurs ? HERE : there));
    }
    console.log(
      `pair ${pair + 1}: ${ours.at(-1)?.toFixed(0)} and ${theirs.at(-1)?.toFixed(0)} µs of CPU a poll`,
    );
  }
  const { min, median, max } = summaryOf(pairedRatios(ours, theirs));
  const [one, other] = [summaryOf(ours), summaryOf(theirs)];
  console.log(`\nhere ${one.median.toFixed(0)} µs, ${against} ${other.median.toFixed(0)} µs (medians)`);
  console.log(`here costs ${median.toFixed(3)} of it (${min.toFixed(3)} to ${max.toFixed(3)})`);
} finally {
  await run("git", ["worktree", "remove", "--force", there], { cwd: HERE });
}

async function measure(checkout: string): Promise<number> {
  const { stdout } = await run(process.execPath, [MEASURE], { cwd: checkout });
  return Number(stdout);
}
