import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";
import { benchPages } from "../../bench/report/write-docs.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGES = ["*.md", "bench/*.md", "docs/**/*.md", "deploy/**/*.md"].flatMap((pattern) =>
  globSync(pattern, { cwd: ROOT }),
);

const read = (page: string): string => readFileSync(join(ROOT, page), "utf8");

/** A heading's anchor, as GitHub makes it. */
function anchorsOf(page: string): readonly string[] {
  return [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function isThere(page: string, target: string): boolean {
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? page : join(dirname(page), path);
  if (!existsSync(join(ROOT, file))) return false;
  return anchor === undefined || anchorsOf(file).includes(anchor);
}

test.each(PAGES)("every file and heading that %s links to exists", (page) => {
  const links = [...read(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  const local = links.filter((target) => !/^[a-z]+:/.test(target));
  expect(local.filter((target) => !isThere(page, target))).toEqual([]);
});

// The page about peers names the files of other projects.
const OURS = PAGES.filter((page) => page !== "docs/peers.md");

test.each(OURS)("every file and folder that %s names exists", (page) => {
  const named = [...read(page).matchAll(/`((?:bin|src|test|tools|bench|config|deploy|docs)\/[\w./-]+)`/g)];
  const missing = named
    .map(([, path = ""]) => path)
    .filter((path) => ![path, join("src", path)].some((place) => existsSync(join(ROOT, place))));
  expect(missing).toEqual([]);
});

const COMMENTS = /\/\*[^]*?\*\/|\/\/.*/g;

test("every field that the page about the API names is one that the sources name", () => {
  const page = read("docs/api.md");
  const fields = new Set([...page.matchAll(/"(\w+)":/g)].map(([, field = ""]) => field));
  const words = new Set(
    globSync("src/**/*.ts", { cwd: ROOT }).flatMap(
      (file) =>
        read(file)
          .replaceAll(COMMENTS, "")
          .match(/\b[A-Za-z]\w*\b/g) ?? [],
    ),
  );
  expect(fields.size).toBeGreaterThan(100);
  expect([...fields].filter((field) => !words.has(field))).toEqual([]);
});

/** CPU of a poll at 1,000 a second in the newest run, in microseconds. */
function cpuOfPollUs(run: string): number {
  const row = new RegExp(
    `^\\| CPU per poll at 1000 a second, ${run} +\\|.* (\\d+) µs +\\| +\\d+ µs +\\|$`,
    "m",
  );
  return Number(row.exec(read("bench/README.md"))?.[1]);
}

test.each([
  ["HTTP, a fresh connection each", "HTTP, fresh"],
  ["HTTPS, a fresh connection each", "HTTPS, fresh"],
  ["HTTPS, `connection: reuse`", "HTTPS, reused"],
])("the page about scale plans %s with 60 %% of a core", (row, run) => {
  const planned = new RegExp(`^\\| ${row} +\\| ([\\d,]+) polls a second`, "m").exec(
    read("docs/scale.md"),
  )?.[1];
  const pollsPerSecond = 600_000 / cpuOfPollUs(run);
  expect(planned?.replace(",", "")).toBe(String(Math.floor(pollsPerSecond / 100) * 100));
});

test("the page about scale reckons the CPU of regions with the newest run", () => {
  const [, ...reckoned] =
    /CPU for them \(([\d.]+) ms each\) +\| ([\d.]+) cores +\| ([\d.]+) cores/.exec(read("docs/scale.md")) ??
    [];
  const cpuUs = cpuOfPollUs("HTTPS, fresh");
  const cores = [333, 1_667].map((perSecond) => ((perSecond * cpuUs) / 1_000_000).toFixed(1));
  expect(reckoned).toEqual([(cpuUs / 1_000).toFixed(2), ...cores]);
});

/** A floor, or a room of the kernel, or a feature. */
function roomOf(file: string): string {
  const folders = dirname(file).split("/");
  const isOfMany = folders[0] === "kernel" || folders[0] === "features";
  return folders.slice(0, isOfMany ? 2 : 1).join("/");
}

test("CONTRIBUTING says of every folder of src what it is for, and which of its files to read first", () => {
  const rows = read("CONTRIBUTING.md").matchAll(/^\| `([a-z./-]+)` +\| .+\| `([a-z/-]+\.ts)` +\|$/gm);
  const first = new Map([...rows].map(([, folder = "", file = ""]) => [folder, file]));
  const sources = globSync("src/**/*.ts", { cwd: ROOT }).map((file) => relative("src", file));
  expect([...first.keys()].toSorted()).toEqual([...new Set(sources.map(roomOf))].toSorted());
  expect(
    [...first].map(([folder, file]) => join(folder, file)).filter((file) => !sources.includes(file)),
  ).toEqual([]);
});

test("the README and the page about performance show the newest runs", async () => {
  for (const [path, text] of await benchPages())
    expect(readFileSync(path, "utf8"), `${path} is stale: run npm run bench -- --write`).toBe(text);
});

test("the README says what matters in 1,000 words", () => {
  const words = readFileSync("README.md", "utf8")
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word));
  expect(words.length).toBeLessThanOrEqual(1_000);
});
