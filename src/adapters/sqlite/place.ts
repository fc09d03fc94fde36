import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, type Stats, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StateFileError, troubleOf } from "./trouble.ts";

/** Never opens the file: closing any handle but SQLite's own would drop the locks that this process holds. */
function lookAt(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

/** The message continues a sentence after `must be`. */
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

/** A different number means a different file. */
export function inodeOf(path: string): number | undefined {
  return lookAt(path)?.ino;
}

/** Damaged files are kept for a look, but not without end. */
const MOST_KEPT = 3;

/** Files that SQLite keeps beside a database. */
const COMPANIONS = ["-wal", "-shm"] as const;

/** Moves a damaged file out of the way and returns its new path. It must not be open. */
export function moveAside(path: string): string {
  const kept = keptNumbers(path);
  const number = Math.max(0, ...kept) + 1;
  const aside = `${path}.corrupt-${number}`;
  // The file itself goes last: if this stops half-way, the next start finds it damaged again.
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

/** The process before may still be closing. */
const WAIT_MS = 1_000;

/**
 * One process per state file: an empty database beside it is kept locked. The kernel releases the lock when the
 * process ends, however it ends, and others can still read the state file.
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
