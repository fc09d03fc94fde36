import { DatabaseSync } from "node:sqlite";
import type { LearnedWindow } from "../../core/budget/learned-windows.ts";
import type { BudgetRecord } from "../../core/budget/record.ts";
import type { QuotaRow } from "../../core/budget/quota.ts";
import { LONGEST_WINDOW_MS } from "../../core/answer/credit.ts";
import { POLL_IN_FILE_CHARS } from "../../core/exchange/bounds.ts";
import { FAILURES_KEPT, HOURS_KEPT, MINUTES_KEPT } from "../../core/history/history.ts";
import { INCIDENTS_KEPT } from "../../core/history/incidents.ts";
import type { RestoredUpstream } from "../../core/history/state.ts";
import { POLLS_KEPT } from "../../core/status/availability.ts";
import { hourOf, MINUTE_MS } from "../../core/time/duration.ts";
import type { Restored } from "./messages.ts";
import { openUnlocked } from "./quiet-file.ts";
import { EVIDENCE_SINCE, NOTICES_SINCE, versionOf } from "./schema.ts";
import { readRows, type Row, text } from "../../core/exchange/rows.ts";
import { StateFileError, troubleOf } from "./trouble.ts";
import {
  bucketOf,
  budgetOf,
  evidenceOf,
  incidentOf,
  noticeOf,
  pauseOf,
  pollOf,
  quotaOf,
  receiverOf,
  valueOf,
} from "./tables.ts";

type Building = { -readonly [Key in keyof RestoredUpstream]: RestoredUpstream[Key][number][] };

/** Those that are shown, with the evidence of one that is still open. An older incident that was never closed (its upstream left the config) ended when it was last heard of. */
const incidents = (
  evidence: string,
): string => `SELECT upstream, state, reason, started_at_ms, unwatched, polls,
  CASE place WHEN 1 THEN ended_at_ms ELSE coalesce(ended_at_ms, updated_at_ms) END AS ended_at_ms,
  CASE WHEN place = 1 AND ended_at_ms IS NULL THEN ${evidence} END AS evidence
  FROM (SELECT *, row_number() OVER (PARTITION BY upstream ORDER BY started_at_ms DESC) AS place FROM incidents)
  WHERE place <= ${INCIDENTS_KEPT} ORDER BY upstream, place`;

/** Of a poll that is longer than any that is written now, what others wrote is left out before it is in memory. */
export function shortFacts(): string {
  return `CASE WHEN length(facts) <= ${POLL_IN_FILE_CHARS} THEN facts WHEN json_valid(facts)
    THEN substr(json_remove(facts, '$.headers', '$.excerpt'), 1, ${POLL_IN_FILE_CHARS}) ELSE '' END`;
}

const newestPolls = (which: string, most: number): string =>
  `SELECT *, ${shortFacts()} AS facts FROM polls WHERE upstream = ? ${which} ORDER BY id DESC LIMIT ${most}`;

const bucketsOf = (table: "minutes" | "hours"): string =>
  `SELECT * FROM ${table} WHERE bucket >= ? ORDER BY bucket`;

export function readState(database: DatabaseSync, wallNowMs: number): Restored {
  // A clock that is ahead at the start makes nothing too old.
  const writtenAtMs = lastWrittenMs(database);
  const nowMs = Math.min(wallNowMs, writtenAtMs ?? wallNowMs);
  const upstreams = new Map<string, Building>();
  const of = (upstream: string): Building => {
    const known = upstreams.get(upstream);
    if (known !== undefined) return known;
    const building: Building = {
      polls: [],
      failures: [],
      incidents: [],
      evidence: [],
      minutes: [],
      hours: [],
      values: [],
    };
    upstreams.set(upstream, building);
    return building;
  };
  const add = <Read>(
    rows: readonly unknown[],
    read: (row: Row) => Read,
    to: (of: Building) => Read[],
  ): void => {
    const found = readRows(rows, (row) => [row.get("upstream", text), read(row)] as const);
    for (const [upstream, each] of found) to(of(upstream)).push(each);
  };
  const all = (sql: string, ...given: readonly (string | number)[]): readonly unknown[] =>
    database.prepare(sql).all(...given);

  for (const upstream of namesIn(database)) {
    const polls = all(newestPolls("", POLLS_KEPT), upstream).toReversed();
    const failures = all(newestPolls("AND outcome <> 'ok'", FAILURES_KEPT), upstream).toReversed();
    add(polls, pollOf, (building) => building.polls);
    add(failures, pollOf, (building) => building.failures);
  }
  // A file of an earlier version has no evidence, and is read before it takes its steps.
  const shown = all(incidents(versionOf(database) < EVIDENCE_SINCE ? "NULL" : "evidence"));
  add(shown, incidentOf, ({ incidents }) => incidents);
  for (const [upstream, polls] of readRows(
    shown,
    (row) => [row.get("upstream", text), evidenceOf(row)] as const,
  ))
    of(upstream).evidence.push(...polls);
  const minutesFrom = Math.floor(nowMs / MINUTE_MS) - MINUTES_KEPT;
  add(all(bucketsOf("minutes"), minutesFrom), bucketOf, ({ minutes }) => minutes);
  const hoursFrom = hourOf(nowMs) - HOURS_KEPT;
  add(all(bucketsOf("hours"), hoursFrom), bucketOf, ({ hours }) => hours);
  const values = all("SELECT * FROM value_hours WHERE at_ms >= ? ORDER BY at_ms", nowMs - LONGEST_WINDOW_MS);
  add(values, valueOf, (building) => building.values);
  const pauses = new Map(readRows(all("SELECT * FROM upstream_records"), pauseOf));
  const notices = versionOf(database) < NOTICES_SINCE ? [] : all("SELECT * FROM notices");
  const told = { since: new Map(readRows(notices, receiverOf)), notices: readRows(notices, noticeOf) };
  const standing = { quotas: readQuotas(database), budgets: readBudgets(database), pauses, told };
  return { upstreams, standing, writtenAtMs };
}

function lastWrittenMs(database: DatabaseSync): number | undefined {
  const atMs = database.prepare("SELECT max(ended_at_ms) AS at FROM polls").get()?.["at"];
  return typeof atMs === "number" ? atMs : undefined;
}

export function readQuotas(database: DatabaseSync): readonly QuotaRow[] {
  const counted = database.prepare("SELECT * FROM quota_hours").all();
  const quotas = readRows(counted, quotaOf);
  if (quotas.length < counted.length) throw new StateFileError("damaged", "has a count that was changed");
  return quotas;
}

/** Quotas are money: their counts are read even from a damaged file, as far as possible. */
export function salvageQuotas(path: string): {
  readonly rows: readonly QuotaRow[];
  readonly isComplete: boolean;
} {
  const stored: unknown[] = [];
  let isSound = false;
  try {
    // What is wrong with other tables, or with its length, does not matter here.
    using database = new DatabaseSync(path, { readOnly: true, defensive: false });
    database.exec("PRAGMA writable_schema = ON");
    for (const row of database.prepare("SELECT * FROM quota_hours").iterate()) stored.push(row);
    isSound = database.prepare("PRAGMA quick_check(quota_hours)").get()?.["quick_check"] === "ok";
  } catch (error) {
    troubleOf(error);
  }
  const rows = readRows(stored, quotaOf);
  return { rows, isComplete: isSound && rows.length === stored.length };
}

function readBudgets(database: DatabaseSync): ReadonlyMap<string, BudgetRecord> {
  return new Map(readRows(database.prepare("SELECT * FROM budget_records").all(), budgetOf));
}

function namesIn(database: DatabaseSync): readonly string[] {
  const rows = database.prepare("SELECT DISTINCT upstream FROM polls").all();
  return readRows(rows, (row) => row.get("upstream", text));
}

/** Reads beside a daemon what it has learned: nothing where there is no such file, or none that can be read. */
export function windowsInFile(path: string): ReadonlyMap<string, readonly LearnedWindow[]> {
  try {
    using database = openUnlocked(path);
    return new Map([...readBudgets(database)].map(([budget, { windows }]) => [budget, windows]));
  } catch {
    return new Map();
  }
}
