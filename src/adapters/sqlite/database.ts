import { DatabaseSync } from "node:sqlite";
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
  return numberFrom(database, "SELECT count(*) AS found FROM sqlite_schema") === 0;
}

/** Reads the whole file. Values within rows are not checked, as SQLite keeps no checksums. */
export function requireSound(database: DatabaseSync): void {
  const [first] = database.prepare("PRAGMA quick_check(1)").all();
  const verdict = first?.["quick_check"];
  if (verdict !== "ok") throw new StateFileError("damaged", `is damaged (${String(verdict)})`);
}

/** Prepares it for writing, and proves that by a write. */
export function makeWritable(database: DatabaseSync): void {
  const isNew = isEmpty(database);
  // Before the first page is written, or never.
  if (isNew) {
    database.exec("PRAGMA auto_vacuum = INCREMENTAL");
    // Into the file itself, before there is a journal beside it: its header says from the beginning whose it is.
    inTransaction(database, () => database.exec(SCHEMA));
  }
  database.exec("PRAGMA journal_mode = WAL");
  // Commits do not wait for the disk; the checkpoint of each minute does. A killed process loses nothing.
  database.exec("PRAGMA synchronous = NORMAL");
  database.exec("PRAGMA journal_size_limit = 8388608");
  inTransaction(database, () => migrate(database));
}

function requireOurs(database: DatabaseSync): void {
  const id = numberFrom(database, "SELECT application_id AS found FROM pragma_application_id");
  if (id !== APPLICATION_ID && !isEmpty(database)) {
    throw new StateFileError("foreign", "is the database of another program");
  }
  const version = versionOf(database);
  if (version > SCHEMA_VERSION) {
    throw new StateFileError("foreign", `was written by a newer pacewatch (version ${version} of the file)`);
  }
}

function migrate(database: DatabaseSync): void {
  const version = versionOf(database);
  for (const [next, sql] of MIGRATIONS) if (version < next) database.exec(sql);
  database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
}

function versionOf(database: DatabaseSync): number {
  return numberFrom(database, "SELECT user_version AS found FROM pragma_user_version");
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

/** The tables of the state file. A change raises the version, and comes with a migration from the one before. */

/** "PwSt": marks the file as ours. */
export const APPLICATION_ID = 0x50775374;
const SCHEMA_VERSION = 2;

const ROLL_UP_COLUMNS = `
  bucket INTEGER NOT NULL,
  upstream TEXT NOT NULL,
  polls INTEGER NOT NULL,
  ok INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  throttled INTEGER NOT NULL,
  within_objective INTEGER NOT NULL,
  ok_duration_ms REAL NOT NULL,
  slowest_ok_ms REAL NOT NULL,
  PRIMARY KEY (bucket, upstream)`;

const QUOTA_COLUMNS = `budget TEXT NOT NULL, hour INTEGER NOT NULL, requests INTEGER NOT NULL`;

/** Since version 2. */
const LEARNED_WINDOWS = `CREATE TABLE IF NOT EXISTS learned_windows (
  budget TEXT NOT NULL,
  family TEXT NOT NULL,
  requests REAL,
  per_ms REAL NOT NULL,
  learned_from TEXT NOT NULL,
  PRIMARY KEY (budget, family)
) STRICT, WITHOUT ROWID;`;

const SCHEMA = `
CREATE TABLE polls (
  id INTEGER PRIMARY KEY,
  upstream TEXT NOT NULL,
  poll TEXT NOT NULL,
  origin TEXT NOT NULL,
  sent_at_ms INTEGER NOT NULL,
  ended_at_ms INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL,
  degraded INTEGER NOT NULL,
  within_objective INTEGER NOT NULL,
  duration_ms REAL NOT NULL,
  phases_ms TEXT NOT NULL,
  status INTEGER,
  detail TEXT NOT NULL,
  excerpt TEXT,
  headers TEXT,
  offline INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX polls_by_upstream ON polls (upstream, id);
CREATE INDEX failures_by_upstream ON polls (upstream, id) WHERE outcome <> 'ok';
CREATE INDEX polls_by_end ON polls (ended_at_ms);
CREATE TABLE minutes (${ROLL_UP_COLUMNS}) STRICT, WITHOUT ROWID;
CREATE TABLE hours (${ROLL_UP_COLUMNS}) STRICT, WITHOUT ROWID;
CREATE TABLE incidents (
  upstream TEXT NOT NULL,
  started_at_ms INTEGER NOT NULL,
  ended_at_ms INTEGER,
  updated_at_ms INTEGER NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  polls INTEGER NOT NULL,
  PRIMARY KEY (upstream, started_at_ms)
) STRICT, WITHOUT ROWID;
CREATE TABLE quota_hours (${QUOTA_COLUMNS}, PRIMARY KEY (budget, hour)) STRICT, WITHOUT ROWID;
CREATE TABLE quota_reserves (${QUOTA_COLUMNS}, PRIMARY KEY (budget)) STRICT, WITHOUT ROWID;
${LEARNED_WINDOWS}
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${SCHEMA_VERSION};
`;

/** Each step leads to the version of its place, from the one before. */
const MIGRATIONS: readonly (readonly [version: number, sql: string])[] = [
  [2, `ALTER TABLE polls ADD COLUMN offline INTEGER NOT NULL DEFAULT 0;\n${LEARNED_WINDOWS}`],
];
