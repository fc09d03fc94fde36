import type { DatabaseSync } from "node:sqlite";
import { OUTCOMES } from "../../kernel/exchange/reasons.ts";
import type { ColumnsQuestion } from "../history/state.ts";
import { type Columns, columnsOfPolls, columnsOfBuckets, type PollOfColumn } from "../history/timeline.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../kernel/time/duration.ts";
import { count, number, oneOf, readRows, type Row, whole } from "../../kernel/text/rows.ts";
import { bucketOf } from "./tables.ts";
import { POLLS_IN_FILE } from "./retention.ts";

/** What a plot needs of a poll, and no more. */
const NEWEST_POLLS = `SELECT ended_at_ms, outcome, watched_ms, iif(json_valid(facts), facts ->> 'durationMs', NULL) AS duration_ms
  FROM polls WHERE upstream = ? ORDER BY id DESC LIMIT ${POLLS_IN_FILE}`;

/** Each bucket is looked up by its key. */
const bucketsOf = (table: "minutes" | "hours"): string => `WITH RECURSIVE wanted(index_) AS (
  VALUES (:from) UNION ALL SELECT index_ + 1 FROM wanted WHERE index_ < :to)
  SELECT ${table}.* FROM wanted CROSS JOIN ${table} ON bucket = index_ AND upstream = :upstream`;

/** From its single polls, if as many are kept as the range has; else from its minutes; days from their hours. In a few milliseconds. */
export function readColumns(database: DatabaseSync, question: ColumnsQuestion): Columns {
  const { upstream, fromMs, columnMs } = question;
  if (columnMs >= DAY_MS) return readBuckets(database, question, "hours", HOUR_MS);
  const rows = database.prepare(NEWEST_POLLS).all(upstream);
  if (rows.length < POLLS_IN_FILE || Number(rows.at(-1)?.["ended_at_ms"]) < fromMs) {
    const polls = readRows(rows, pollOf).filter(({ endedAtMs }) => endedAtMs >= fromMs);
    return { columnMs, columns: columnsOfPolls(polls, columnMs), areQuantiles: true };
  }
  return readBuckets(database, question, "minutes", MINUTE_MS);
}

function readBuckets(
  database: DatabaseSync,
  { upstream, fromMs, toMs, columnMs }: ColumnsQuestion,
  table: "minutes" | "hours",
  bucketMs: number,
): Columns {
  const [from, to] = [Math.floor(fromMs / bucketMs), Math.floor(toMs / bucketMs)];
  const buckets = readRows(database.prepare(bucketsOf(table)).all({ from, to, upstream }), bucketOf);
  const columns = columnsOfBuckets(buckets, columnMs / bucketMs);
  return { columnMs, columns, areQuantiles: false };
}

function pollOf(row: Row): PollOfColumn {
  return {
    endedAtMs: row.get("ended_at_ms", whole),
    outcome: row.get("outcome", oneOf(OUTCOMES)),
    durationMs: row.get("duration_ms", number),
    watchedMs: row.get("watched_ms", count),
  };
}
