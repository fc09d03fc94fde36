import { DatabaseSync } from "node:sqlite";
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from "./schema.ts";
import { StateFileError } from "./trouble.ts";

const LOCK_TIMEOUT_MS = 1_000;

/** Nothing is written yet: a file that turns out to be another program's stays as it is. */
export function openDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: LOCK_TIMEOUT_MS });
  try {
    requireOurs(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * For reading only, where not even the shared memory beside the file can be made (a full disk): with the lock
 * held for good, SQLite does without it.
 */
export function openDatabaseAlone(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: LOCK_TIMEOUT_MS });
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    requireOurs(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

export function isEmpty(database: DatabaseSync): boolean {
  return numberFrom(database, "SELECT count(*) AS found FROM sqlite_schema") === 0;
}

/** Reads the whole file; what lies within a row is not checked, as SQLite keeps no checksums. */
export function requireSound(database: DatabaseSync): void {
  const [first] = database.prepare("PRAGMA quick_check(1)").all();
  const verdict = first?.["quick_check"];
  if (verdict !== "ok") throw new StateFileError("damaged", `is damaged (${String(verdict)})`);
}

/** Makes it ready to be written, and proves it by writing. */
export function makeWritable(database: DatabaseSync): void {
  const isNew = isEmpty(database);
  // Before the first page is written, or never.
  if (isNew) database.exec("PRAGMA auto_vacuum = INCREMENTAL");
  database.exec("PRAGMA journal_mode = WAL");
  // No commit waits for the disk; each minute's checkpoint does. A killed process loses nothing by it.
  database.exec("PRAGMA synchronous = NORMAL");
  database.exec("PRAGMA journal_size_limit = 8388608");
  inTransaction(database, () => database.exec(isNew ? SCHEMA : `PRAGMA user_version = ${SCHEMA_VERSION}`));
}

function requireOurs(database: DatabaseSync): void {
  const id = numberFrom(database, "SELECT application_id AS found FROM pragma_application_id");
  if (id !== APPLICATION_ID && !isEmpty(database)) {
    throw new StateFileError("foreign", "is the database of another program");
  }
  const version = numberFrom(database, "SELECT user_version AS found FROM pragma_user_version");
  if (version > SCHEMA_VERSION) {
    throw new StateFileError("foreign", `was written by a newer pacewatch (version ${version} of the file)`);
  }
}

function numberFrom(database: DatabaseSync, sql: string): number {
  return Number(database.prepare(sql).get()?.["found"]);
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
