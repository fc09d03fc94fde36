import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import { messageOf } from "../../kernel/text/escape.ts";
import { StateFileError } from "./trouble.ts";

/** Does not open the file: while it is in use, closing any handle but SQLite's own would drop this process's locks. */
function lookAt(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

/** Makes its directory too. */
export function requirePlace(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StateFileError("unopenable", `is in a directory that cannot be made (${messageOf(error)})`);
  }
  const found = lookAt(path);
  if (found?.isFile() !== false) return;
  const is = found.isDirectory() ? "is a directory" : "is a pipe, a socket or a device";
  throw new StateFileError("foreign", is);
}

/**
 * SQLite gives a new file the mode that the umask leaves, and its companions the mode of the file. So the file is made
 * here first, for its owner alone; also behind a link, which is there before the file that it leads to. One that is there
 * keeps its mode: that is its owner's choice. Tells whether it is new.
 */
export function makePrivate(path: string): boolean {
  try {
    if (lookAt(path) !== undefined) return false;
    closeSync(openSync(path, "a", 0o600));
    return true;
  } catch {
    // SQLite tells what is wrong, in its own words.
    return false;
  }
}

/** "SQLite format 3" and what a database is of, at their places in its header. */
const MAGIC = "SQLite format 3\0";
const APPLICATION_ID_AT = 68;
const HEADER_BYTES = 100;

/** Reads the first bytes, if there are any. Only while this process has no database open there: see `lookAt`. */
export function headerOf(
  path: string,
): { readonly isDatabase: boolean; readonly applicationId: number } | undefined {
  if ((lookAt(path)?.size ?? 0) === 0) return undefined;
  const header = firstBytes(path, HEADER_BYTES);
  return {
    isDatabase: header.toString("latin1", 0, MAGIC.length) === MAGIC,
    applicationId: header.readUInt32BE(APPLICATION_ID_AT),
  };
}

/** With zeros behind it where the file is shorter. */
export function firstBytes(path: string, bytes: number): Buffer {
  const begins = Buffer.alloc(bytes);
  const file = openSync(path, "r");
  try {
    readSync(file, begins, 0, bytes, 0);
  } finally {
    closeSync(file);
  }
  return begins;
}

/** A different number means a different file. */
export function inodeOf(path: string): number | undefined {
  return lookAt(path)?.ino;
}

/** Damaged files are kept for a look, but not without end. */
const MOST_KEPT = 3;

const ASIDE = ".corrupt-";

/** What SQLite may have left beside a database has this behind its name. */
const JOURNAL = "-journal";

/** When a damaged file was moved aside last. */
export function lastMovedAsideMs(named: string): number | undefined {
  const path = realpathSync(named);
  const kept = keptNumbers(path).map((number) => lookAt(`${path}${ASIDE}${number}`)?.ctimeMs ?? 0);
  return kept.length === 0 ? undefined : Math.max(...kept);
}

/** Moves a damaged file out of the way and returns its new path. It must not be open. */
export function moveAside(named: string): string {
  const path = realpathSync(named);
  const kept = keptNumbers(path);
  const number = Math.max(0, ...kept) + 1;
  const aside = `${path}${ASIDE}${number}`;
  // The file itself goes last: if this stops half-way, the next start finds it damaged again.
  if (existsSync(path + JOURNAL)) renameSync(path + JOURNAL, aside + JOURNAL);
  renameSync(path, aside);
  for (const old of kept.filter((each) => each <= number - MOST_KEPT)) {
    for (const end of ["", JOURNAL]) rmSync(`${path}${ASIDE}${old}${end}`, { force: true });
  }
  return aside;
}

/** In the place of a new file that could not be begun. That one's journal must not be taken for its own. */
export function moveBack(aside: string): void {
  const path = aside.slice(0, aside.lastIndexOf(ASIDE));
  rmSync(path + JOURNAL, { force: true });
  renameSync(aside, path);
  if (existsSync(aside + JOURNAL)) renameSync(aside + JOURNAL, path + JOURNAL);
}

function keptNumbers(path: string): readonly number[] {
  const prefix = `${basename(path)}${ASIDE}`;
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(prefix))
    .map((name) => /^\d+/.exec(name.slice(prefix.length))?.[0])
    .flatMap((digits) => (digits === undefined ? [] : [Number(digits)]));
}
