import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { chooseMutants, type Equivalent, folderOf } from "../../tools/mutants/choose.ts";
import {
  importersOf,
  judge,
  type Run,
  type Step,
  stepsFor,
  type Verdict,
} from "../../tools/mutants/judge.ts";
import { lineOf, shortfalls, tableOf } from "../../tools/mutants/report.ts";

const FILE = "src/core/sums/sign.ts";
const SOURCE = `export function sign(a: number): number {
  return a < 0 ? -1 : 1;
}
export function most(a: number, b: number): number {
  return a > b ? a : b;
}
`;

const QUICK: Step = { name: "its folder", args: ["quick.mjs"], mostMs: 60_000, isLong: false };
const LONG: Step = { name: "long", args: ["long.mjs"], mostMs: 60_000, isLong: true };

/** A project whose tests are programs that fail by their exit code. */
async function openProject(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "pacewatch-made-up-"));
  onTestFinished(() => rm(root, { recursive: true }));
  await mkdir(join(root, "src/core/sums"), { recursive: true });
  await writeFile(join(root, FILE), SOURCE);
  const program = (condition: string): string =>
    `import { most, sign } from "./${FILE}"; process.exit(${condition} ? 0 : 1);`;
  await writeFile(join(root, "quick.mjs"), program("sign(0) === 1"));
  await writeFile(join(root, "long.mjs"), program("sign(-5) === -1 && most(1, 2) === 2"));
  return root;
}

const ran: Run = async ({ args }, root) => {
  const child = spawn(process.execPath, args, { cwd: root, stdio: "ignore" });
  const [code] = await once(child, "exit");
  return code === 0 ? "passed" : "failed";
};

async function verdictsOn(perFolder: number): Promise<readonly Verdict[]> {
  const root = await openProject();
  const choice = { perFolder, seed: 1, equivalents: [] };
  const verdicts: Verdict[] = [];
  for (const mutant of chooseMutants(new Map([[FILE, SOURCE]]), choice))
    verdicts.push(await judge(mutant, root, [QUICK, LONG], ran));
  expect(await readFile(join(root, FILE), "utf8")).toBe(SOURCE);
  return verdicts;
}

test("each change is judged by itself, by the first tests that fail, and taken back", async () => {
  const verdicts = await verdictsOn(100);
  const seen = verdicts.map(
    ({ mutant, seenBy }) => `${mutant.line} ${mutant.change}: ${seenBy?.name ?? "not seen"}`,
  );
  expect(seen.toSorted()).toEqual([
    "2 - is left out: long",
    "2 0 becomes 1: its folder",
    "2 1 becomes 0: its folder",
    "2 1 becomes 0: long",
    "2 < becomes <=: its folder",
    "5 > becomes >=: not seen",
  ]);
  expect(tableOf(verdicts)).toBe(
    [
      "| folder    | changes | seen by the quick tests | by all that ran |",
      "| --------- | ------- | ----------------------- | --------------- |",
      "| core/sums | 6       | 3 (50 %)                | 5 (83 %)        |",
      "| all       | 6       | 3 (50 %)                | 5 (83 %)        |",
      "",
    ].join("\n"),
  );
  const unseen = verdicts.filter(({ seenBy }) => seenBy === undefined);
  expect(unseen.map(lineOf).join()).toMatch(
    /^src\/core\/sums\/sign\.ts:5 {2}> becomes >= {2}NOT SEEN {2}[\d.]+ s$/,
  );
  expect(shortfalls(verdicts, { quickPercent: 50, allPercent: 83 }, true)).toEqual([]);
  expect(shortfalls(verdicts, { quickPercent: 51, allPercent: 84 }, true)).toEqual([
    "the quick tests see 50 % of 6, less than 51 %",
    "all tests see 83 % of 6, less than 84 %",
  ]);
  expect(shortfalls(verdicts, { quickPercent: 0, allPercent: 100 }, false)).toEqual([]);
});

test("tests that fail without any change have seen nothing", async () => {
  const root = await openProject();
  await writeFile(join(root, "quick.mjs"), "process.exit(1);");
  const mutants = chooseMutants(new Map([[FILE, SOURCE]]), { perFolder: 100, seed: 1, equivalents: [] });
  for (const mutant of mutants) {
    const verdict = await judge(mutant, root, [QUICK, LONG], ran);
    expect(verdict.seenBy?.name).not.toBe("its folder");
  }
});

test("tests that hang have seen it, and the source is as it was", async () => {
  const root = await openProject();
  const [mutant] = chooseMutants(new Map([[FILE, SOURCE]]), { perFolder: 1, seed: 1, equivalents: [] });
  if (mutant === undefined) throw new Error("there is nothing to change");
  const hangs: Run = async () => ((await readFile(join(root, FILE), "utf8")) === SOURCE ? "passed" : "hung");
  const verdict = await judge(mutant, root, [QUICK, LONG], hangs);
  expect(verdict).toMatchObject({ seenBy: QUICK, hung: true });
  await expect(judge(mutant, root, [QUICK], () => Promise.reject(new Error("no runner")))).rejects.toThrow(
    "no runner",
  );
  expect(await readFile(join(root, FILE), "utf8")).toBe(SOURCE);
});

test("the same seed draws the same changes, a number of them from each folder, none that is known to change nothing", () => {
  const sources = new Map(
    ["src/core/a/a.ts", "src/core/b/b.ts", "src/app/c.ts"].map((file) => [file, SOURCE]),
  );
  const drawn = (seed: number, equivalents: readonly Equivalent[] = []): readonly string[] =>
    chooseMutants(sources, { perFolder: 2, seed, equivalents }).map(
      ({ file, line, change }) => `${folderOf(file)} ${line} ${change}`,
    );
  expect(drawn(1)).toEqual(drawn(1));
  expect(drawn(1)).not.toEqual(drawn(2));
  expect(drawn(1).map((text) => text.split(" ")[0])).toEqual([
    "app",
    "app",
    "core/a",
    "core/a",
    "core/b",
    "core/b",
  ]);
  const same = ["- is left out", "0 becomes 1", "1 becomes 0", "< becomes <="].map((change) => ({
    file: "src/app/c.ts",
    text: "return a < 0 ? -1 : 1;",
    change,
    why: "made up",
  }));
  const inApp = drawn(1, same).filter((text) => text.startsWith("app "));
  expect(inApp).toEqual(["app 5 > becomes >="]);
});

test("what is nearest runs first, and the long tests last or not at all", () => {
  const steps = stepsFor("src/core/budget/leases.ts", true);
  expect(steps.map(({ isLong }) => isLong)).toEqual([false, false, false, true, true]);
  expect(steps[0]?.args).toContain("test/core/budget/");
  expect(steps[1]?.args).toContain("src/core/budget/leases.ts");
  expect(stepsFor("src/core/budget/leases.ts", false)).toEqual(steps.slice(0, 3));
});

test("tests of other folders that name the file run before all those that depend on it", () => {
  const text = 'import { Leases } from "../../../src/core/budget/leases.ts";';
  const tests = new Map([
    ["test/core/budget/leases.test.ts", text],
    ["test/engine/poll/lease-queue.test.ts", text],
    ["test/engine/poll/poller.test.ts", ""],
  ]);
  const importers = importersOf("src/core/budget/leases.ts", tests);
  expect(importers).toEqual(["test/engine/poll/lease-queue.test.ts"]);
  const names = stepsFor("src/core/budget/leases.ts", false, importers).map(({ name }) => name);
  expect(names).toEqual(["its folder", "who imports it", "related", "end to end"]);
});
