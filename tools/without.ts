/**
 * Whether a feature can be taken away: `npm run without`. For each folder of `src/features` that is no base,
 * `src` and those tests of the kernel that need no feature are checked in a copy that has neither the folder nor its lines in the lists of
 * `src/app/features`. `npm run without -- values` does it for one.
 */

import { spawnSync } from "node:child_process";
import {
  cpSync,
  globSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const LISTS = "src/app/features/*.ts";
/** A test that shows how the kernel and features work together. */
const WITH_FEATURES = /"[./]+(?:src\/(?:features|app)\/|support\/(?:samples|judged)\.ts)/;

/** The list without the imports from a folder, and without the lines that name what they brought. */
function withoutFeature(list: string, feature: string): string {
  const gone = new Set<string>();
  const rest = list.replaceAll(
    /^import (?:type )?([^;]*?) from "([^"]+)";\n/gm,
    (statement, names: string, from) => {
      if (!String(from).includes(`features/${feature}/`)) return statement;
      for (const [, name = ""] of names.matchAll(/(\w+)(?=\s*[,}]|$)/g)) gone.add(name);
      return "";
    },
  );
  if (gone.size === 0) return list;
  const named = new RegExp(`(?<!\\w|(?<!\\.)\\.)(?:${[...gone].join("|")})(?!\\w)`);
  const lines = rest.split("\n").map((line) => (named.test(line) ? withoutNamed(line, named) : line));
  return lines.filter((line) => line !== undefined).join("\n");
}

/** A list in one line loses items; any other line goes. */
function withoutNamed(line: string, named: RegExp): string | undefined {
  const [, before, items, after] = /^(.*(?:=>?|return) \[)(.+)(\];?)$/.exec(line) ?? [];
  if (before === undefined || items === undefined || named.test(before)) return undefined;
  const kept = items.split(/, (?![^(]*\))/).filter((item) => !named.test(item));
  return `${before}${kept.join(", ")}${after}`;
}

/** Of each feature the others that it imports, types too. */
function arrowsBetween(root: string): ReadonlyMap<string, ReadonlySet<string>> {
  const folder = join(root, "src/features");
  return new Map(
    readdirSync(folder).map((feature) => {
      const others = globSync("**/*.ts", { cwd: join(folder, feature) }).flatMap((file) => {
        const text = readFileSync(join(folder, feature, file), "utf8");
        const imports = [...text.matchAll(/"(?:\.\.\/)+([a-z]+)\/[^"]+"/g)].map(([, other = ""]) => other);
        return imports.filter((other) => other !== feature && readdirSync(folder).includes(other));
      });
      return [feature, new Set(others)] as const;
    }),
  );
}

/** The process is made of these, and not only of lists: the log, what is shown, kept, and counted with the leases. */
function namedOutsideOfLists(root: string): readonly string[] {
  const files = globSync(["src/app/*.ts", "src/commands/**/*.ts", "src/main.ts"], { cwd: root });
  return files.flatMap((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return [...text.matchAll(/\/features\/([a-z]+)\//g)].map(([, feature = ""]) => feature);
  });
}

/** What the compiler says of the tree without it. */
export function faultsWithout(feature: string): readonly string[] {
  const copy = mkdtempSync(join(tmpdir(), "pacewatch-without-"));
  try {
    for (const part of ["src", "test/kernel", "test/support", "package.json"])
      cpSync(join(ROOT, part), join(copy, part), { recursive: true });
    for (const test of globSync("test/kernel/**/*.ts", { cwd: copy }))
      if (WITH_FEATURES.test(readFileSync(join(copy, test), "utf8"))) rmSync(join(copy, test));
    symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
    rmSync(join(copy, "src/features", feature), { recursive: true });
    for (const list of globSync(LISTS, { cwd: copy })) {
      const path = join(copy, list);
      writeFileSync(path, withoutFeature(readFileSync(path, "utf8"), feature));
    }
    const config = JSON.parse(readFileSync(join(ROOT, "tsconfig.json"), "utf8"));
    writeFileSync(
      join(copy, "tsconfig.json"),
      JSON.stringify({ ...config, include: ["src", "test/kernel"] }),
    );
    const { stdout } = spawnSync(
      process.execPath,
      [join(ROOT, "node_modules/typescript/bin/tsc"), "--noEmit"],
      {
        cwd: copy,
        encoding: "utf8",
      },
    );
    return stdout.split("\n").filter((line) => line.includes("error TS"));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const arrows = arrowsBetween(ROOT);
  const bases = new Set([
    ...[...arrows.values()].flatMap((others) => [...others]),
    ...namedOutsideOfLists(ROOT),
  ]);
  const asked = process.argv.slice(2);
  const wanted = asked.length > 0 ? asked : [...arrows.keys()].filter((feature) => !bases.has(feature));
  for (const [feature, others] of arrows)
    if (others.size > 0) console.log(`${feature} cannot be without ${[...others].toSorted().join(", ")}`);
  for (const feature of wanted) {
    const faults = faultsWithout(feature);
    console.log(`without ${feature}: ${faults.length === 0 ? "checked" : `${faults.length} faults`}`);
    for (const fault of faults.slice(0, asked.length > 0 ? 40 : 3)) console.log(`  ${fault}`);
    if (faults.length > 0) process.exitCode = 1;
  }
}
