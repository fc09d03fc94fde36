/**
 * How much code there is: `npm run size`. Lines of .ts and .css without blanks and comments, of `src` by room, and
 * of `test`; and as they stand, how long the way of a poll is. With `--against REV` also how many more or fewer than there.
 */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const FOLDERS = ["src", "test"];

/** How a line begins that is a comment alone, and whether a comment of many lines is known there. */
const COMMENTS: Readonly<Record<string, { readonly line?: string; readonly hasBlocks: boolean }>> = {
  ".ts": { line: "//", hasBlocks: true },
  ".css": { hasBlocks: true },
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

/** The way of a poll in the kernel, from its trigger to its number on `/metrics`, as CONTRIBUTING.md tells it. */
const WAY: readonly string[] = [
  "polling/timetable",
  "polling/poller",
  "poll/ports",
  "polling/lease-queue",
  "budget/ledger",
  "budget/local-ledger",
  "budget/leases",
  "polling/poll-once",
  "poll/judging",
  "poll/answer",
  "poll/classify",
  "poll/poll",
  "exchange/outcome",
  "poll/health",
  "metrics/accounts",
  "metrics/catalogue",
].map((file) => `src/kernel/${file}.ts`);

/** The same on the wire. */
const WIRE: readonly string[] = [
  "poll-client",
  "probe",
  "request",
  "route",
  "tls",
  "connection-attempt",
  "request-in-flight",
  "phases",
  "received-body",
  "decode",
].map((file) => `src/transport/${file}.ts`);

/** A file, and all that it imports, and they. */
export function reachOf(root: string, first: string): readonly string[] {
  const reached = new Set<string>([first]);
  for (const file of reached) {
    const text = readFileSync(join(root, file), "utf8");
    for (const [, path = ""] of text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g))
      reached.add(join(dirname(file), path));
  }
  return [...reached];
}

/** How the house is judged. */
export function judgedSizes(root: string): Readonly<Record<"kernel" | "way" | "wire" | "reach", number>> {
  const asTheyStand = (files: readonly string[]): number =>
    files.reduce((sum, file) => sum + readFileSync(join(root, file), "utf8").split("\n").length - 1, 0);
  const kernel = [...sizesOf(root)].filter(([room]) => room.startsWith("src/kernel/"));
  return {
    kernel: kernel.reduce((sum, [, lines]) => sum + lines, 0),
    way: asTheyStand(WAY),
    wire: asTheyStand(WIRE),
    reach: asTheyStand(reachOf(root, "src/kernel/polling/poller.ts")),
  };
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { against: { type: "string" } } });
  const before = values.against === undefined ? undefined : sizesAt(values.against);
  for (const line of linesOf(sizesOf(ROOT), before)) console.log(line);
  const { kernel, way, wire, reach } = judgedSizes(ROOT);
  console.log(`
the kernel: ${kernel}
the way of a poll in it, as it stands: ${way} in ${WAY.length} files; on the wire: ${wire} in ${WIRE.length}
what the poller imports, all levels deep, as it stands: ${reach}`);
}
