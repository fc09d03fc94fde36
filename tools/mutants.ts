/**
 * Makes small random changes in copies of the sources, one at a time, and tells which of them no test sees:
 * `npm run mutants -- --per-folder 9 --seed 1`. `--quick-only` leaves the long tests out, `--folder kernel/budget` takes
 * that folder alone, `--jobs 2` runs two at a time. It fails below `--quick` and `--all` percent.
 */

import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chooseMutants, folderOf, type Mutant } from "./mutants/choose.ts";
import { copyOf } from "./mutants/copy.ts";
import { EQUIVALENTS } from "./mutants/equivalents.ts";
import { Greens, importersOf, judge, runTests, stepsFor, type Verdict } from "./mutants/judge.ts";
import { lineOf, shortfalls, tableOf } from "./mutants/report.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      "per-folder": { type: "string", default: "9" },
      seed: { type: "string", default: "1" },
      quick: { type: "string", default: "90" },
      all: { type: "string", default: "95" },
      jobs: { type: "string", default: "1" },
      folder: { type: "string", multiple: true, default: [] },
      "quick-only": { type: "boolean", default: false },
      list: { type: "boolean", default: false },
    },
  });
  const [perFolder, seed, quick, all, jobs] = [
    values["per-folder"],
    values.seed,
    values.quick,
    values.all,
    values.jobs,
  ].map(Number);
  if (
    perFolder === undefined ||
    seed === undefined ||
    quick === undefined ||
    all === undefined ||
    jobs === undefined
  )
    return 2;
  if (![perFolder, seed, jobs].every(Number.isSafeInteger) || perFolder < 1 || jobs < 1) {
    console.error("cannot make changes: --per-folder, --seed and --jobs must be whole numbers");
    return 2;
  }
  const withLong = !values["quick-only"];
  const sources = await sourcesOf(values.folder);
  const mutants = chooseMutants(sources, { perFolder, seed, equivalents: EQUIVALENTS });
  if (values.list) {
    for (const { file, line, change } of mutants) console.log(`${file}:${line}  ${change}`);
    return 0;
  }
  const verdicts = await judged(mutants, jobs, withLong);
  const unseen = verdicts.filter(({ seenBy }) => seenBy === undefined);
  console.log(`\n${tableOf(verdicts)}`);
  console.log(unseen.length === 0 ? "each was seen" : `not seen by any test that ran: ${unseen.length}`);
  for (const verdict of unseen) console.log(`  ${lineOf(verdict)}`);
  const short = shortfalls(verdicts, { quickPercent: quick, allPercent: all }, withLong);
  for (const sentence of short) console.error(sentence);
  return short.length === 0 ? 0 : 1;
}

async function sourcesOf(folders: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const sources = await textsOf("src/*/**/*.ts");
  if (folders.length === 0) return sources;
  return new Map([...sources].filter(([file]) => folders.includes(folderOf(file))));
}

/** By path from the root. */
async function textsOf(pattern: string): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for await (const file of glob(pattern, { cwd: ROOT }))
    texts.set(file, await readFile(join(ROOT, file), "utf8"));
  return texts;
}

/** Each copy takes the next change when it is done with one. */
async function judged(
  mutants: readonly Mutant[],
  jobs: number,
  withLong: boolean,
): Promise<readonly Verdict[]> {
  await using copies = new AsyncDisposableStack();
  const roots = await Promise.all(
    Array.from({ length: jobs }, async () => copies.use(await copyOf(ROOT)).root),
  );
  const tests = await textsOf("test/**/*.test.ts");
  const greens = new Greens(runTests);
  const waiting = [...mutants];
  const verdicts: Verdict[] = [];
  await Promise.all(
    roots.map(async (root) => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const steps = stepsFor(next.file, withLong, importersOf(next.file, tests));
        const verdict = await judge(next, root, steps, runTests, greens);
        verdicts.push(verdict);
        console.log(lineOf(verdict));
      }
    }),
  );
  return verdicts;
}
