import type { DatabaseSync } from "node:sqlite";
import { COUNTS, DAY_SUMS, DURATIONS, MINUTES_COUNTED } from "./tables.ts";

/** "PwSt": marks the file as ours. */
export const APPLICATION_ID = 0x50775374;

export const FIRST_VERSION = 1;

/**
 * Each leads from its version to the next one. A new file takes all of them, so a step that was released is never edited.
 * A file is read before its first write, and so before its steps: whoever reads must also understand the shape before them.
 */
const STEPS: readonly string[] = [];

function columns(names: readonly string[], type: string): string {
  return names.map((name) => `${name} ${type}`).join(", ");
}

const ROLL_UP_COLUMNS = `bucket INTEGER NOT NULL, upstream TEXT NOT NULL,
  ${columns(COUNTS, "INTEGER NOT NULL")}, ${columns(DURATIONS, "REAL NOT NULL")}`;

/**
 * The first shape. A poll has columns for what it is selected by. All else of it is JSON, so
 * that a further fact needs no step. An hour also counts its minutes: those with a poll that was ok or failed, those in which
 * all of these failed, and those with at least so many that failed. Days are days in UTC that are over: a report of a year
 * need not add up its hours. An hour that changes takes its day away.
 */
const SCHEMA = `
CREATE TABLE polls (
  id INTEGER PRIMARY KEY,
  upstream TEXT NOT NULL,
  poll TEXT NOT NULL,
  ended_at_ms INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  watched_ms INTEGER NOT NULL,
  facts TEXT NOT NULL
) STRICT;
CREATE INDEX polls_by_upstream ON polls (upstream, id);
CREATE INDEX failures_by_upstream ON polls (upstream, id) WHERE outcome <> 'ok';
CREATE INDEX polls_by_end ON polls (ended_at_ms);
CREATE TABLE minutes (${ROLL_UP_COLUMNS}, PRIMARY KEY (bucket, upstream)) STRICT, WITHOUT ROWID;
CREATE TABLE hours (${ROLL_UP_COLUMNS}, ${columns(MINUTES_COUNTED, "INTEGER")},
  PRIMARY KEY (bucket, upstream)) STRICT, WITHOUT ROWID;
CREATE TABLE days (upstream TEXT NOT NULL, day INTEGER NOT NULL,
  ${columns(Object.keys(DAY_SUMS), "REAL NOT NULL")},
  PRIMARY KEY (upstream, day)) STRICT, WITHOUT ROWID;
CREATE TRIGGER hour_added AFTER INSERT ON hours BEGIN
  DELETE FROM days WHERE upstream = new.upstream AND day = new.bucket / 24;
END;
CREATE TRIGGER hour_changed AFTER UPDATE ON hours BEGIN
  DELETE FROM days WHERE upstream = new.upstream AND day = new.bucket / 24;
END;
CREATE TRIGGER hour_forgotten AFTER DELETE ON hours BEGIN
  DELETE FROM days WHERE upstream = old.upstream AND day = old.bucket / 24;
END;
CREATE TABLE tally_hours (
  bucket INTEGER NOT NULL,
  upstream TEXT NOT NULL,
  name TEXT NOT NULL,
  polls INTEGER NOT NULL,
  units INTEGER NOT NULL,
  PRIMARY KEY (bucket, upstream, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE incidents (
  upstream TEXT NOT NULL,
  started_at_ms INTEGER NOT NULL,
  ended_at_ms INTEGER,
  unwatched INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  polls INTEGER NOT NULL,
  why TEXT NOT NULL,
  evidence TEXT,
  PRIMARY KEY (upstream, started_at_ms)
) STRICT, WITHOUT ROWID;
CREATE TABLE notes (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  json TEXT NOT NULL,
  until_ms INTEGER,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE value_hours (
  upstream TEXT NOT NULL,
  name TEXT NOT NULL,
  hour INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  value REAL NOT NULL,
  refilled REAL NOT NULL,
  PRIMARY KEY (upstream, name, hour)
) STRICT, WITHOUT ROWID;
`;

export function newestVersion(steps: readonly string[] = STEPS): number {
  return FIRST_VERSION + steps.length;
}

export function versionOf(database: DatabaseSync): number {
  return Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
}

export function createTables(database: DatabaseSync): void {
  database.exec(SCHEMA);
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  database.exec(`PRAGMA user_version = ${FIRST_VERSION}`);
  migrate(database);
}

/** The caller holds a transaction, so that a step is taken completely or not at all. */
export function migrate(database: DatabaseSync, steps: readonly string[] = STEPS): void {
  for (const step of steps.slice(versionOf(database) - FIRST_VERSION)) database.exec(step);
  database.exec(`PRAGMA user_version = ${newestVersion(steps)}`);
}
