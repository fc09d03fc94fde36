import { type BigIntStats, realpathSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { codeOf } from "../../kernel/text/escape.ts";
import { firstBytes } from "./place.ts";
import { StateFileError } from "./trouble.ts";

/** A file system tells times of changes this coarsely. */
const COARSE_MS = 20;
const TRIES = 250;
const JOURNAL_BEGINS = Buffer.from("d9d505f920a163d7", "hex");

/**
 * Reads beside a daemon that may write meanwhile, and again until nothing was written: what is read is all of one moment.
 * The daemon has its file locked for itself, so it is read without regard to locks.
 * SQLite fills the journal before it changes the file, and clears it once the change is complete. So if the journal was
 * clear before and after, and the file is as old as before, no write came in between. Each reading should be short.
 */
export function readBeside<Read>(
  path: string,
  read: (database: DatabaseSync) => Read,
  tries: number = TRIES,
): Read {
  const real = realpathSync(path);
  const url = pathToFileURL(real);
  url.searchParams.set("immutable", "1");
  for (let turn = 0; turn < tries; turn += 1) {
    if (turn > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, COARSE_MS);
    const before = quietSince(real);
    if (before === undefined) continue;
    try {
      using database = new DatabaseSync(url, { readOnly: true });
      const found = read(database);
      if (isSame(before, quietSince(real))) return found;
    } catch (error) {
      // What was torn looks damaged.
      if (isSame(before, quietSince(real))) throw error;
    }
  }
  throw new StateFileError(
    "locked",
    "is always being written, or its last write was not completed: start pacewatch, which completes it",
  );
}

/** Undefined while it is being written, and so soon after that a further write would leave the same time. */
function quietSince(path: string): BigIntStats | undefined {
  if (isJournalHot(`${path}-journal`)) return undefined;
  const stats = statSync(path, { bigint: true });
  const ageMs = Date.now() - Number(stats.mtimeMs);
  return ageMs >= 0 && ageMs < COARSE_MS ? undefined : stats;
}

function isSame(one: BigIntStats, other: BigIntStats | undefined): boolean {
  return (
    other !== undefined && one.mtimeNs === other.mtimeNs && one.size === other.size && one.ino === other.ino
  );
}

/** A journal that is kept for the next write begins with zeros. */
function isJournalHot(path: string): boolean {
  try {
    return firstBytes(path, JOURNAL_BEGINS.length).equals(JOURNAL_BEGINS);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}
