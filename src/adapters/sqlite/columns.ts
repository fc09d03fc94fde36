import type { DatabaseSync } from "node:sqlite";
import { POLLS_IN_FILE } from "../../core/exchange/bounds.ts";
import { OUTCOMES } from "../../core/exchange/reasons.ts";
import { columnOf } from "../../core/history/rolling-counts.ts";
import type { ColumnsQuestion } from "../../core/history/state.ts";
import {
  type Columns,
  columnsOfPolls,
  mergedColumns,
  type PollOfColumn,
} from "../../core/status/timeline.ts";
import { MINUTE_MS } from "../../core/time/duration.ts";
import { number, oneOf, readRows, type Row, whole } from "../../core/exchange/rows.ts";
import { bucketOf } from "./tables.ts";

/** What a plot needs of a poll, and no more. */
const NEWEST_POLLS = `SELECT ended_at_ms, outcome, iif(json_valid(facts), facts ->> 'durationMs', NULL) AS duration_ms
  FROM polls WHERE upstream = ? ORDER BY id DESC LIMIT ${POLLS_IN_FILE}`;

/** Each bucket is looked up by its key. */
const MINUTES = `WITH RECURSIVE wanted(minute) AS (
  VALUES (:from) UNION ALL SELECT minute + 1 FROM wanted WHERE minute < :to)
  SELECT minutes.* FROM wanted CROSS JOIN minutes ON bucket = minute AND upstream = :upstream`;

/** From its single polls, if as many are kept as the range has; else from its minutes. In a few milliseconds. */
export function readColumns(database: DatabaseSync, question: ColumnsQuestion): Columns {
  const { upstream, fromMs, toMs, columnMs } = question;
  const rows = database.prepare(NEWEST_POLLS).all(upstream);
  if (rows.length < POLLS_IN_FILE || Number(rows.at(-1)?.["ended_at_ms"]) < fromMs) {
    const polls = readRows(rows, pollOf).filter(({ endedAtMs }) => endedAtMs >= fromMs);
    return { columnMs, columns: columnsOfPolls(polls, columnMs), areQuantiles: true };
  }
  const [from, to] = [Math.floor(fromMs / MINUTE_MS), Math.floor(toMs / MINUTE_MS)];
  const minutes = readRows(database.prepare(MINUTES).all({ from, to, upstream }), bucketOf);
  return {
    columnMs,
    columns: mergedColumns(minutes.map(columnOf), columnMs / MINUTE_MS),
    areQuantiles: false,
  };
}

function pollOf(row: Row): PollOfColumn {
  return {
    endedAtMs: row.get("ended_at_ms", whole),
    outcome: row.get("outcome", oneOf(OUTCOMES)),
    durationMs: row.get("duration_ms", number),
  };
}
