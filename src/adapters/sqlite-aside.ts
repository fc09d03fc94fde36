import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname } from "node:path";

/** Damaged files are kept for whoever wants to look into them, but not without end. */
const MOST_KEPT = 3;

/** SQLite's own companions of a database. */
const COMPANIONS = ["-wal", "-shm"] as const;

/** Moves a damaged file out of the way, and tells where it is now. It must not be open. */
export function moveAside(path: string): string {
  const kept = keptNumbers(path);
  const number = Math.max(0, ...kept) + 1;
  const aside = `${path}.corrupt-${number}`;
  // The file itself goes last: what is left half-way is found damaged again.
  for (const companion of COMPANIONS) {
    if (existsSync(`${path}${companion}`)) renameSync(`${path}${companion}`, `${aside}${companion}`);
  }
  renameSync(path, aside);
  for (const old of kept.filter((each) => each <= number - MOST_KEPT)) {
    for (const companion of ["", ...COMPANIONS])
      rmSync(`${path}.corrupt-${old}${companion}`, { force: true });
  }
  return aside;
}

function keptNumbers(path: string): readonly number[] {
  const prefix = `${basename(path)}.corrupt-`;
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(prefix))
    .map((name) => /^\d+/.exec(name.slice(prefix.length))?.[0])
    .flatMap((digits) => (digits === undefined ? [] : [Number(digits)]));
}
