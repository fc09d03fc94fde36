import { DatabaseSync } from "node:sqlite";
import { APPLICATION_ID, createTables, FIRST_VERSION, migrate, newestVersion, versionOf } from "./schema.ts";
import { StateFileError, troubleOf } from "./trouble.ts";

/** The process before may still be closing. */
const LOCK_TIMEOUT_MS = 1_000;

/**
 * The file itself is locked for this process alone, for as long as it is open: whatever name leads to it, and whatever
 * lies beside it. The kernel ends the lock with the process. Nothing is written yet: the database of another program
 * stays as it is.
 */
export function openDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: LOCK_TIMEOUT_MS });
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    requireOurs(database);
    // SQLite would begin a file that is empty by this, and then no longer accept how it is to be vacuumed.
    if (!isEmpty(database)) database.exec("BEGIN EXCLUSIVE; COMMIT");
    return database;
  } catch (error) {
    database.close();
    if (troubleOf(error).kind !== "locked") throw error;
    throw new StateFileError("locked", "is in use by another pacewatch, or locked by another program");
  }
}

export function isEmpty(database: DatabaseSync): boolean {
  return database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
}

/** Reads the whole file. Values within rows are not checked, as SQLite keeps no checksums. */
export function requireSound(database: DatabaseSync): void {
  const verdict = database.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
  if (verdict !== "ok") throw new StateFileError("damaged", `is damaged (${String(verdict)})`);
}

/**
 * Prepares it for writing, and proves that by a write. What is committed is in the file itself and on the disk: nothing
 * that could vanish from beside it holds any of it.
 */
export function makeWritable(database: DatabaseSync): void {
  database.exec("PRAGMA journal_mode = DELETE");
  database.exec("PRAGMA synchronous = FULL");
  database.exec("PRAGMA journal_size_limit = 8388608");
  const isNew = isEmpty(database);
  // SQLite accepts this before the first page is written, or never.
  if (isNew) database.exec("PRAGMA auto_vacuum = INCREMENTAL");
  inTransaction(database, () => (isNew ? createTables(database) : migrate(database)));
}

function requireOurs(database: DatabaseSync): void {
  const id = database.prepare("PRAGMA application_id").get()?.["application_id"];
  if (isEmpty(database)) return;
  if (id !== APPLICATION_ID) throw new StateFileError("foreign", "is the database of another program");
  const version = versionOf(database);
  if (version < FIRST_VERSION) throw new StateFileError("damaged", "is of a version that never was");
  if (version > newestVersion()) {
    throw new StateFileError("foreign", `was written by a newer pacewatch (version ${version} of the file)`);
  }
}

/** All of it or nothing. */
export function inTransaction<Done>(database: DatabaseSync, work: () => Done): Done {
  database.exec("BEGIN IMMEDIATE");
  try {
    const done = work();
    database.exec("COMMIT");
    return done;
  } catch (error) {
    // A full disk may have rolled it back already.
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}
