import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, type Stats, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StateFileError, troubleOf } from "./trouble.ts";

/**
 * The state file as its folder shows it. Never opened but by SQLite: closing any other handle of it would drop the
 * locks that this process holds.
 */
function lookAt(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

/** Goes on from `must be`. */
export class PlaceError extends Error {}

export function requirePlace(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new PlaceError(`in a directory that exists or can be made, received ${reason}`);
  }
  if (lookAt(path)?.isDirectory() === true) throw new PlaceError("a file, received a directory");
}

export function hasBytes(path: string): boolean {
  return (lookAt(path)?.size ?? 0) > 0;
}

/** Another number means that it is another file now. */
export function inodeOf(path: string): number | undefined {
  return lookAt(path)?.ino;
}

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

/** The one before may still be letting go. */
const WAIT_MS = 1_000;

/**
 * One process for one state file, by an empty database beside it that is held locked. The kernel lets go of it
 * with the process, however that ends; and the state file itself stays readable for others.
 */
export class StateLock {
  readonly #database: DatabaseSync;

  constructor(path: string) {
    this.#database = new DatabaseSync(`${path}.lock`, { timeout: WAIT_MS });
    try {
      // A journal on the disk would need room there.
      this.#database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    } catch (error) {
      this.#database.close();
      if (troubleOf(error).kind !== "locked") throw error;
      throw new StateFileError("locked", "is in use by another pacewatch");
    }
  }

  release(): void {
    this.#database.close();
  }
}
