import { DatabaseSync } from "node:sqlite";
import { APPLICATION_ID, createTables, migrate, newestVersion, versionOf } from "./schema.ts";
import { StateFileError } from "./trouble.ts";

const LOCK_TIMEOUT_MS = 1_000;

/**
 * Nothing is written yet: the database of another program stays as it is. `isAlone` is for reading where not even the
 * shared memory beside the file can be made (a full disk): with an exclusive lock, SQLite does without it.
 */
export function openDatabase(path: string, isAlone: boolean = false): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: LOCK_TIMEOUT_MS });
  try {
    if (isAlone) database.exec("PRAGMA locking_mode = EXCLUSIVE");
    requireOurs(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
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

/** Prepares it for writing, and proves that by a write. */
export function makeWritable(database: DatabaseSync): void {
  if (isEmpty(database)) {
    // SQLite accepts this before the first page is written, or never.
    database.exec("PRAGMA auto_vacuum = INCREMENTAL");
    // Into the file itself, before there is a journal beside it: its header says from the beginning whose it is.
    inTransaction(database, () => createTables(database));
  }
  database.exec("PRAGMA journal_mode = WAL");
  // Commits do not wait for the disk; the checkpoint of each minute does. A killed process loses nothing.
  database.exec("PRAGMA synchronous = NORMAL");
  database.exec("PRAGMA journal_size_limit = 8388608");
  inTransaction(database, () => migrate(database));
}

function requireOurs(database: DatabaseSync): void {
  const id = database.prepare("PRAGMA application_id").get()?.["application_id"];
  if (id !== APPLICATION_ID && !isEmpty(database)) {
    throw new StateFileError("foreign", "is the database of another program");
  }
  const version = versionOf(database);
  if (version > newestVersion()) {
    throw new StateFileError("foreign", `was written by a newer pacewatch (version ${version} of the file)`);
  }
}

/** All of it or nothing. */
export function inTransaction(database: DatabaseSync, work: () => void): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    work();
    database.exec("COMMIT");
  } catch (error) {
    // A full disk may have rolled it back already.
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}
