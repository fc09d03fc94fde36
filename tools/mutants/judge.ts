import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Mutant } from "./choose.ts";
import { folderOf } from "./choose.ts";
import { changed } from "./sites.ts";

/** Some tests, by the arguments of the runner. */
export type Step = {
  readonly name: string;
  readonly args: readonly string[];
  /** They hang if they take longer: they have seen that something is wrong. */
  readonly mostMs: number;
  readonly isLong: boolean;
};

export type Verdict = {
  readonly mutant: Mutant;
  /** The tests that failed or hung; undefined if none did. */
  readonly seenBy: Step | undefined;
  readonly hung: boolean;
  readonly tookMs: number;
};

/** `passed`, `failed`, or that it did not end in time. */
export type Run = (step: Step, root: string) => Promise<"passed" | "failed" | "hung">;

const MINUTE_MS = 60_000;

/** From the nearest to the farthest, the quick ones first. `importers`: tests of other folders that name this file. */
export function stepsFor(
  file: string,
  withLong: boolean,
  importers: readonly string[] = [],
): readonly Step[] {
  const quick = (name: string, args: readonly string[], minutes: number): Step => ({
    name,
    args: ["run", ...args, "--passWithNoTests", "--bail=1"],
    mostMs: minutes * MINUTE_MS,
    isLong: false,
  });
  const related = (project: string): readonly string[] => [
    "related",
    "--run",
    file,
    `--project=${project}`,
    "--passWithNoTests",
    "--bail=1",
  ];
  const steps: readonly Step[] = [
    quick("its folder", ["--project=unit", `test/${folderOf(file)}/`], 2),
    ...(importers.length > 0 ? [quick("who imports it", ["--project=unit", ...importers], 2)] : []),
    { name: "related", args: related("unit"), mostMs: 4 * MINUTE_MS, isLong: false },
    quick("end to end", ["--project=e2e"], 5),
    { name: "related, long", args: related("unit-long"), mostMs: 30 * MINUTE_MS, isLong: true },
    { ...quick("end to end, long", ["--project=e2e-long"], 60), isLong: true },
  ];
  return steps.filter(({ isLong }) => withLong || !isLong);
}

/** Of the tests, by path, those outside of its own folder that import this source themselves. */
export function importersOf(file: string, tests: ReadonlyMap<string, string>): readonly string[] {
  const own = `test/${folderOf(file)}/`;
  return [...tests].flatMap(([path, text]) =>
    !path.startsWith(own) && text.includes(`/${file}"`) ? [path] : [],
  );
}

/** Which tests pass where nothing is changed: what fails by itself has seen nothing. Asked once of each, when it matters. */
export class Greens {
  readonly #run: Run;
  readonly #known = new Map<string, Promise<boolean>>();

  constructor(run: Run) {
    this.#run = run;
  }

  /** The sources at `root` must be unchanged. */
  isGreen(step: Step, root: string): Promise<boolean> {
    const key = step.args.join(" ");
    const known = this.#known.get(key) ?? this.#run(step, root).then((end) => end === "passed");
    this.#known.set(key, known);
    return known;
  }
}

/** Changes the copy at `root`, and changes it back. */
export async function judge(
  mutant: Mutant,
  root: string,
  steps: readonly Step[],
  run: Run,
  greens: Greens = new Greens(run),
): Promise<Verdict> {
  const path = join(root, mutant.file);
  const source = await readFile(path, "utf8");
  const beganMs = performance.now();
  try {
    for (const step of steps) {
      await writeFile(path, changed(source, mutant));
      const end = await run(step, root);
      if (end === "passed") continue;
      await writeFile(path, source);
      if (!(await greens.isGreen(step, root))) continue;
      return { mutant, seenBy: step, hung: end === "hung", tookMs: performance.now() - beganMs };
    }
    return { mutant, seenBy: undefined, hung: false, tookMs: performance.now() - beganMs };
  } finally {
    await writeFile(path, source);
  }
}

/** In a process group of its own, so that whatever the tests have started ends with them. */
export const runTests: Run = async ({ args, mostMs }, root) => {
  const runner = join(root, "node_modules/vitest/vitest.mjs");
  const child = spawn(process.execPath, [runner, ...args], {
    cwd: root,
    detached: true,
    stdio: "ignore",
    env: { TEST_WAIT_MS: "20000", ...process.env, CI: "" },
  });
  const { promise: ended, resolve } = Promise.withResolvers<number | null>();
  child.once("exit", resolve);
  let hung = false;
  const timer = setTimeout(() => {
    hung = true;
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  }, mostMs);
  const code = await ended;
  clearTimeout(timer);
  if (hung) return "hung";
  return code === 0 ? "passed" : "failed";
};
