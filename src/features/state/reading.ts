import { DatabaseSync } from "node:sqlite";
import { LONGEST_WINDOW_MS } from "../history/credit.ts";
import { HOURS_KEPT, MINUTES_KEPT } from "../history/history.ts";
import { FAILURES_KEPT, POLLS_KEPT } from "../history/kept-poll.ts";
import { INCIDENTS_KEPT } from "../history/incidents.ts";
import { packedPolls } from "../history/poll-ring.ts";
import { RollingCounts } from "../history/rolling-counts.ts";
import type { RestoredUpstream } from "../history/state.ts";
import type { Note } from "../../kernel/text/notes.ts";
import { HOUR_MS, MINUTE_MS } from "../../kernel/time/duration.ts";
import type { Restored } from "./messages.ts";
import { readBeside } from "./quiet-file.ts";
import { readEach, readRows, type Row, text } from "../../kernel/text/rows.ts";
import { StateFileError, troubleOf } from "./trouble.ts";
import {
  bucketOf,
  closedWhere,
  COUNTS,
  DURATIONS,
  evidenceOf,
  incidentOf,
  knownUntilOf,
  noteOf,
  pollOf,
  valueOf,
} from "./tables.ts";

/** Those that are shown, with the evidence of one that is still open. */
const INCIDENTS = `SELECT upstream, state, reason, started_at_ms, polls, why, ${closedWhere("place > 1")},
  CASE WHEN place = 1 AND ended_at_ms IS NULL THEN evidence END AS evidence
  FROM (SELECT *, row_number() OVER (PARTITION BY upstream ORDER BY started_at_ms DESC) AS place FROM incidents) AS incidents
  WHERE place <= ${INCIDENTS_KEPT} ORDER BY upstream, place`;

const newestPolls = (which: string, most: number): string =>
  `SELECT * FROM polls WHERE upstream = ? ${which} ORDER BY id DESC LIMIT ${most}`;

const bucketsOf = (table: "minutes" | "hours"): string =>
  `SELECT bucket, upstream, ${[...COUNTS, ...DURATIONS].join(", ")} FROM ${table} WHERE bucket >= ? ORDER BY bucket`;

export function readState(database: DatabaseSync, wallNowMs: number): Restored {
  // A clock that is ahead at the start makes nothing too old.
  const writtenAtMs = lastWrittenMs(database);
  const nowMs = Math.min(wallNowMs, writtenAtMs ?? wallNowMs);
  const rows = (sql: string, ...given: readonly (string | number)[]): Iterable<unknown> =>
    database.prepare(sql).iterate(...given);
  // A month of a thousand upstreams is 720,000 rows: as objects, they would take a gigabyte.
  const counted = (
    table: "minutes" | "hours",
    bucketMs: number,
    length: number,
  ): ReadonlyMap<string, RollingCounts> => {
    const counts = new Map<string, RollingCounts>();
    readEach(rows(bucketsOf(table), Math.floor(nowMs / bucketMs) - length), (row) => {
      const [upstream, bucket] = [row.get("upstream", text), bucketOf(row)];
      const known = counts.get(upstream) ?? new RollingCounts(bucketMs, length);
      counts.set(upstream, known);
      known.restore(bucket);
    });
    return counts;
  };
  const shown = database.prepare(INCIDENTS).all();
  const lists = {
    incidents: byUpstream(shown, incidentOf),
    evidence: byUpstream(shown, evidenceOf),
    minutes: counted("minutes", MINUTE_MS, MINUTES_KEPT),
    hours: counted("hours", HOUR_MS, HOURS_KEPT),
    values: byUpstream(
      rows("SELECT * FROM value_hours WHERE at_ms >= ? ORDER BY at_ms", nowMs - LONGEST_WINDOW_MS),
      valueOf,
    ),
  };
  const names = new Set([...namesIn(database), ...Object.values(lists).flatMap((list) => [...list.keys()])]);
  const restoredOf = (upstream: string): RestoredUpstream => {
    const newest = (which: string, most: number): readonly unknown[] =>
      database.prepare(newestPolls(which, most)).all(upstream).toReversed();
    const polls = newest("", POLLS_KEPT);
    return {
      polls: packedPolls(readRows(polls, pollOf)),
      failures: readRows(newest("AND outcome <> 'ok'", FAILURES_KEPT), pollOf),
      incidents: lists.incidents.get(upstream) ?? [],
      evidence: lists.evidence.get(upstream)?.flat() ?? [],
      minutes: lists.minutes.get(upstream)?.packed ?? new Int32Array(),
      hours: lists.hours.get(upstream)?.packed ?? new Int32Array(),
      values: lists.values.get(upstream) ?? [],
      knownUntilMs: readRows(polls.slice(-1), knownUntilOf)[0],
    };
  };
  return {
    upstreams: new Map([...names].map((upstream) => [upstream, restoredOf(upstream)])),
    notes: readNotes(database),
    writtenAtMs,
  };
}

function byUpstream<Read>(
  rows: Iterable<unknown>,
  read: (row: Row) => Read,
): ReadonlyMap<string, readonly Read[]> {
  const found = new Map<string, Read[]>();
  readEach(rows, (row) => {
    const [upstream, each] = [row.get("upstream", text), read(row)];
    const known = found.get(upstream);
    if (known === undefined) found.set(upstream, [each]);
    else known.push(each);
  });
  return found;
}

function lastWrittenMs(database: DatabaseSync): number | undefined {
  const atMs = database.prepare("SELECT max(ended_at_ms) AS at FROM polls").get()?.["at"];
  return typeof atMs === "number" ? atMs : undefined;
}

const NOTES = "SELECT * FROM notes";

export function readNotes(database: DatabaseSync): readonly Note[] {
  const { notes, isWhole } = notesIn(database.prepare(NOTES).all());
  if (!isWhole) throw new StateFileError("damaged", "has a note that was changed");
  return notes;
}

function notesIn(rows: readonly unknown[]): { readonly notes: readonly Note[]; readonly isWhole: boolean } {
  const notes = readRows(rows, noteOf);
  return { notes, isWhole: notes.length === rows.length };
}

/** Some are money: they are read even from a damaged file, as far as possible. */
export function salvageNotes(path: string): {
  readonly notes: readonly Note[];
  readonly isComplete: boolean;
} {
  const stored: unknown[] = [];
  let isSound = false;
  try {
    // What is wrong with other tables, or with its length, does not matter here.
    using database = new DatabaseSync(path, { readOnly: true, defensive: false });
    database.exec("PRAGMA writable_schema = ON");
    for (const row of database.prepare(NOTES).iterate()) stored.push(row);
    isSound = database.prepare("PRAGMA quick_check(notes)").get()?.["quick_check"] === "ok";
  } catch (error) {
    troubleOf(error);
  }
  const { notes, isWhole } = notesIn(stored);
  return { notes, isComplete: isSound && isWhole };
}

function namesIn(database: DatabaseSync): readonly string[] {
  const rows = database.prepare("SELECT DISTINCT upstream FROM polls").all();
  return readRows(rows, (row) => row.get("upstream", text));
}

/** Nobody waits long for them: half a second. */
const SOME_TRIES = 25;

/** Reads them beside a daemon: nothing where there is no such file, or none that can be read. */
export function notesBeside(path: string): readonly Note[] {
  try {
    return readBeside(path, readNotes, SOME_TRIES);
  } catch {
    return [];
  }
}
