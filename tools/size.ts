/**
 * How much code there is: `npm run size`. Lines of .ts, .lua and .css without blanks and comments, of `src` by room, and
 * of `test`. With `--against REV` also how many more or fewer than there.
 */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const FOLDERS = ["src", "test"];

/** How a line begins that is a comment alone, and whether a comment of many lines is known there. */
const COMMENTS: Readonly<Record<string, { readonly line?: string; readonly hasBlocks: boolean }>> = {
  ".ts": { line: "//", hasBlocks: true },
  ".css": { hasBlocks: true },
  ".lua": { line: "--", hasBlocks: false },
};

/** 0 of a file that is no code. */
export function codeLines(path: string, text: string): number {
  const comments = COMMENTS[extname(path)];
  if (comments === undefined) return 0;
  let count = 0;
  let isInBlock = false;
  for (const written of text.split("\n")) {
    const line = written.trim();
    const isFirst = !isInBlock && comments.hasBlocks && line.startsWith("/*");
    if (isFirst || isInBlock) isInBlock = !line.includes("*/");
    else if (line !== "" && (comments.line === undefined || !line.startsWith(comments.line))) count += 1;
  }
  return count;
}

/** `src/kernel/budget`, `src/app`, `test`: as CONTRIBUTING.md calls them. */
export function roomOf(path: string): string {
  const folders = path.split("/").slice(0, -1);
  return folders[0] === "src" ? folders.slice(0, 3).join("/") : (folders[0] ?? "");
}

type Sizes = ReadonlyMap<string, number>;

/** Of each room, and of `src` in all. */
export function sizesOf(root: string): Sizes {
  const sizes = new Map<string, number>();
  const add = (room: string, lines: number): void => void sizes.set(room, (sizes.get(room) ?? 0) + lines);
  for (const folder of FOLDERS) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      const path = join(folder, name);
      if (COMMENTS[extname(path)] === undefined) continue;
      const lines = codeLines(path, readFileSync(join(root, path), "utf8"));
      add(roomOf(path), lines);
      if (folder === "src" && roomOf(path) !== "src") add("src", lines);
    }
  }
  return sizes;
}

function sizesAt(revision: string): Sizes {
  const folder = mkdtempSync(join(tmpdir(), "pacewatch-size-"));
  try {
    const archive = join(folder, "all.tar");
    execFileSync("git", ["archive", "-o", archive, revision, ...FOLDERS], { cwd: ROOT });
    execFileSync("tar", ["-xf", archive, "-C", folder]);
    return sizesOf(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The rooms in the order of their names, then both sums. */
export function linesOf(sizes: Sizes, before?: Sizes): readonly string[] {
  const rooms = [...new Set([...sizes.keys(), ...(before?.keys() ?? [])])];
  const isSum = (room: string): boolean => FOLDERS.includes(room);
  return [...rooms.filter((room) => !isSum(room)).toSorted(), ...FOLDERS].map((room) => {
    const lines = sizes.get(room) ?? 0;
    const size = `${room.padEnd(22)}${String(lines).padStart(7)}`;
    if (before === undefined) return size;
    const more = lines - (before.get(room) ?? 0);
    return more === 0 ? size : size + (more > 0 ? `+${more}` : String(more)).padStart(8);
  });
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { against: { type: "string" } } });
  const before = values.against === undefined ? undefined : sizesAt(values.against);
  for (const line of linesOf(sizesOf(ROOT), before)) console.log(line);
}
