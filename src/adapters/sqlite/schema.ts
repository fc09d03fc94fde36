/** The tables of the state file. A change of shape raises the version, and brings the steps from the one before. */

/** "PwSt": tells our file from other programs'. */
export const APPLICATION_ID = 0x50775374;
export const SCHEMA_VERSION = 1;

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

export const SCHEMA: string = `
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
  headers TEXT
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
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${SCHEMA_VERSION};
`;
